"""Plugs for the frameworks that people build with; each module needs the extra of the same name.

============================================  ==================  ==========================================
module                                        extra               brings
============================================  ==================  ==========================================
:mod:`hybridrank.integrations.langchain`      ``langchain``       a retriever and a document compressor
:mod:`hybridrank.integrations.llama_index`    ``llama-index``     a retriever and a node postprocessor
:mod:`hybridrank.integrations.haystack`       ``haystack``        a retriever and a ranker
:mod:`hybridrank.integrations.pyterrier`      ``pyterrier``       transformers that retrieve and rerank
:mod:`hybridrank.integrations.serve`          ``serve``           ``hybridrank serve``: search and reranking
                                                                  over HTTP, in Jina's wire format
============================================  ==================  ==========================================

Importing a module whose package is not installed raises :class:`~hybridrank.errors.MissingExtra`. The
retrievers take any :class:`~hybridrank.protocols.Retriever`: an index, a pipeline, one of your own. What
reranks takes a :class:`~hybridrank.protocols.Reranker`, or a :class:`~hybridrank.integrations.scorers.Scorer`
such as a Jina client, or nothing, for BM25 over the documents at hand.
"""
