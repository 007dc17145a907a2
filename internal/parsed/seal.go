package parsed

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

// A file is sealed with a digest of all its bytes, in the metadata of its footer, where the digest itself counts as
// zeros. Parquet only has checksums of pages, and a reader trusts a damaged footer: it leaves rows out or asks for
// all memory.

// keyDigest is the key of metadata for the digest.
const keyDigest = "sim.digest"

// unsealed is the digest in a file being written: a mark, and room for 16 bytes in hexadecimal.
const unsealed = mark + "00000000000000000000000000000000"

const mark = "xxh3-128:"

// maxFooter is how many bytes at the end of a file are searched for its digest.
const maxFooter = 64 << 20

// sealer writes a file, holding back its footer until the digest is in it.
type sealer struct {
	w      io.Writer
	digest *xxh3.Hasher128
	footer *bytes.Buffer // the footer, nil before it begins
}

func newSealer(w io.Writer) *sealer { return &sealer{w: w, digest: xxh3.New128()} }

// Write implements io.Writer.
func (s *sealer) Write(p []byte) (int, error) {
	_, _ = s.digest.Write(p) // never fails
	if s.footer != nil {
		return s.footer.Write(p)
	}
	return s.w.Write(p)
}

// seal writes the footer with the digest.
func (s *sealer) seal() error {
	text := s.footer.Bytes()
	at := bytes.LastIndex(text, []byte(unsealed))
	if at < 0 {
		return errors.New("the footer has no room for a digest")
	}
	hex.Encode(text[at+len(mark):], sum(s.digest))
	_, err := s.w.Write(text)
	return err
}

func sum(h *xxh3.Hasher128) []byte {
	b := h.Sum128().Bytes()
	return b[:]
}

// checkSeal returns errForm for a file without a digest, errDamaged for one that has changed since it was written.
func checkSeal(in io.ReaderAt, size int64) error {
	var tail [8]byte // the length of the footer, and PAR1
	if _, err := in.ReadAt(tail[:], max(0, size-8)); err != nil {
		return fmt.Errorf("%w (%w)", errForm, err)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:])) + 8
	if string(tail[4:]) != "PAR1" || n > min(size, maxFooter) {
		return errForm
	}
	footer := make([]byte, n)
	if _, err := in.ReadAt(footer, size-n); err != nil {
		return fmt.Errorf("%w (%w)", errDamaged, err)
	}
	at := bytes.LastIndex(footer, []byte(mark))
	if at < 0 || at+len(unsealed) > len(footer) {
		return errForm
	}
	given := bytes.Clone(footer[at+len(mark) : at+len(unsealed)])
	copy(footer[at:], unsealed)
	digest := xxh3.New128()
	if _, err := io.Copy(digest, io.NewSectionReader(in, 0, size-n)); err != nil {
		return fmt.Errorf("%w (%w)", errDamaged, err)
	}
	_, _ = digest.Write(footer) // never fails
	if hex.EncodeToString(sum(digest)) != string(given) {
		return errDamaged
	}
	return nil
}
