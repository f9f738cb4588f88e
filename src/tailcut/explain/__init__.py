"""Why a decision was made: explanations."""
