"""How much accuracy is required: all three models fitted to the data of each, hyperparameters
inferred."""

from statistics import median

from bracketz.papers.grosse2015.claims.queries import (
    BINARY,
    CLUSTERING,
    LOW_RANK,
    MODELS,
    ahead,
    claim,
    lead,
)
from bracketz.testbed.analysis.ledger import Decision, Experiment, NotDecided

PLACE = "How much accuracy is required"
#: The signal-to-noise ratios of full.toml and quick.toml were chosen by these leads.
FITTED = "the signal-to-noise ratios were chosen to come near these leads (calibrate.py)"


@claim(PLACE, "On clustering data the clustering model scores highest.", "+13.1 over low-rank, +5.7 over binary-attributes",
       "it leads both others on average over the data sets", fitted=FITTED)  # fmt: skip
def clustering_data_true_model_wins(e: Experiment) -> Decision:
    return ahead(e, CLUSTERING)


@claim(PLACE, "On low-rank data the low-rank model scores highest.", "+69.1 over clustering, +26.3 over binary-attributes",
       "it leads both others on average over the data sets", fitted=FITTED)  # fmt: skip
def low_rank_data_true_model_wins(e: Experiment) -> Decision:
    return ahead(e, LOW_RANK)


@claim(PLACE, "On binary-attribute data the binary-attribute model scores highest.",
       "+49.2 over clustering, +22.3 over low-rank", "it leads both others on average over the data sets", fitted=FITTED)  # fmt: skip
def binary_data_true_model_wins(e: Experiment) -> Decision:
    return ahead(e, BINARY)


@claim(PLACE, "Telling the models apart takes an accuracy of tens of nats.", "5.7, 26.3, 22.3",
       "smallest mean lead of the true model on clustering, low-rank and binary data: the median is from 10 to 100 nats",
       fitted=FITTED)  # fmt: skip
def tens_of_nats_tell_models_apart(e: Experiment) -> Decision:
    leads = [lead(e, model) for model in MODELS]
    words = ", ".join(f"{one.nats:.1f}" for one in leads)
    verdicts = {
        10 <= median(one.nats + sign * one.slack for one in leads) < 100 for sign in (-1, 0, 1)
    }
    if len(verdicts) > 1:
        raise NotDecided(
            f"{words}, and the fits may have"
            f" {max(one.slack for one in leads):.1f} nats to come together"
        )
    return words, verdicts.pop()
