"""What a test of the decoder's state found, handed to the server that it was made on."""

import hashlib
import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Evidence(BaseModel):
    """A file `{"contract_sha256": …, "closed": true, …}`; whatever else it holds is the tester's.

    Attributes:
        contract_sha256: of the server that was tested.
        closed: enough rejected drafts were followed by an answer, and all answers were target-only's.
        sha256: of the file.

    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    contract_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    closed: bool = Field(strict=True)
    sha256: str

    @classmethod
    def read(cls, path: str) -> "Evidence":
        """Read a file.

        Raises:
            ValueError: one line that names the file and what is wrong with it.

        """
        try:
            content = Path(path).expanduser().read_bytes()
            found = json.loads(content)
            return cls.model_validate(
                {**found, "sha256": hashlib.sha256(content).hexdigest()} if isinstance(found, dict) else found
            )
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"{path}: {where + ': ' if where else ''}{first['msg']}") from error
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: cannot be read as evidence: {error}") from error
