package cassette

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sum returns the SHA-256 of what came back, as text: another summary in the
// file would give other figures than those that were paid for. It is taken of
// the members and not of the bytes of the file, whose ends of lines may change on
// their way through a repository.
func (f *form) sum() (string, error) {
	b, err := json.Marshal([]any{f.Texts, f.Reply, f.Failure, f.Withheld, f.Predicted, f.Entities}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return "", err
	}
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:]), nil
}

// checkSum tells whether the answer is the one that was stored. Files of programs
// that did not sum have none.
func (f *form) checkSum() error {
	if f.Sum == "" {
		return nil
	}
	switch s, err := f.sum(); {
	case err != nil:
		return err
	case s != f.Sum:
		return fmt.Errorf("its answer is not the one that was stored (its sum is %.12s… and not %.12s…)", s, f.Sum)
	}
	return nil
}
