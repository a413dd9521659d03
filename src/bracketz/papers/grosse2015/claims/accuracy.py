"""How much accuracy is required: all three models fitted to the data of each, hyperparameters
inferred."""

from statistics import median

from bracketz.papers.grosse2015.claims.queries import (
    BINARY,
    CLUSTERING,
    LOW_RANK,
    MODELS,
    claim,
    lead,
)
from bracketz.testbed.analysis.ledger import Decision, Experiment

PLACE = "How much accuracy is required"
#: The signal-to-noise ratios of full.toml and quick.toml were chosen by these leads.
FITTED = "the signal-to-noise ratios were chosen to come near these leads (calibrate.py)"


@claim(PLACE, "On clustering data the clustering model scores highest.", "+13.1 over low-rank, +5.7 over binary-attributes",
       "it leads both others on average over the data sets", fitted=FITTED)  # fmt: skip
def clustering_data_true_model_wins(e: Experiment) -> Decision:
    least, words = lead(e, CLUSTERING)
    return words, least > 0


@claim(PLACE, "On low-rank data the low-rank model scores highest.", "+69.1 over clustering, +26.3 over binary-attributes",
       "it leads both others on average over the data sets", fitted=FITTED)  # fmt: skip
def low_rank_data_true_model_wins(e: Experiment) -> Decision:
    least, words = lead(e, LOW_RANK)
    return words, least > 0


@claim(PLACE, "On binary-attribute data the binary-attribute model scores highest.",
       "+49.2 over clustering, +22.3 over low-rank", "it leads both others on average over the data sets", fitted=FITTED)  # fmt: skip
def binary_data_true_model_wins(e: Experiment) -> Decision:
    least, words = lead(e, BINARY)
    return words, least > 0


@claim(PLACE, "Telling the models apart takes an accuracy of tens of nats.", "5.7, 26.3, 22.3",
       "smallest mean lead of the true model on clustering, low-rank and binary data: the median is from 10 to 100 nats",
       fitted=FITTED)  # fmt: skip
def tens_of_nats_tell_models_apart(e: Experiment) -> Decision:
    leads = [lead(e, model)[0] for model in MODELS]
    return ", ".join(f"{nats:.1f}" for nats in leads), 10 <= median(leads) < 100
