package cassette

import (
	"bytes"
	"testing"

	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

// Whatever a file holds, reading it gives a cassette or says what is wrong; a
// file that is read is written again as one that reads the same.
func FuzzDecode(f *testing.F) {
	for _, c := range []*Cassette{answered(nth(1)), refused(nth(2), wire.CauseTooLong)} {
		for _, redact := range []bool{false, true} {
			file := formOf(c)
			if redact {
				file.redact(new(blur), nil)
			}
			b, err := file.encode()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
			f.Add(b[:len(b)/2])
		}
	}
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(data)
		if err != nil {
			return
		}
		b, err := got.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(b)
		if err != nil {
			t.Fatalf("%v in\n%s", err, b)
		}
		if twice, err := again.encode(); err != nil || !bytes.Equal(b, twice) {
			t.Fatalf("%v: written twice it is\n%s\nand\n%s", err, b, twice)
		}
		if c, err := got.cassette(got.Key); err == nil && (c.Reply == nil) == (c.Failure == nil) {
			t.Fatal("a cassette with neither reply nor failure, or with both")
		}
	})
}
