"""What ``hybridrank serve`` serves: searching an index and reranking documents, in Jina's wire format.

:mod:`~hybridrank.integrations.serve.wire` reads requests and writes answers, with the standard library alone;
:mod:`~hybridrank.integrations.serve.app` is the application, for any ASGI server, and needs the extra
``serve``.
"""
