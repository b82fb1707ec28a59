"""What everyone may see of options."""

from verispec.redaction import for_all_eyes


def test_options_hold_no_secrets_and_no_paths():
    options = {
        "api_key": "s3cret",
        "hf_token": "s3cret",
        "nested": {"client_secret": "s3cret", "paths": ["/home/someone/data/table.bin", "~/x"]},
        "min_match": 3,
        "stop_token_id": 7,
        "url": "relative/name",
    }
    assert for_all_eyes(options) == {
        "api_key": "(left out)",
        "hf_token": "(left out)",
        "nested": {"client_secret": "(left out)", "paths": ["table.bin", "x"]},
        "min_match": 3,
        "stop_token_id": 7,
        "url": "relative/name",
    }
