package assembly

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// lines describes what a reader gives: number, place, text, and how it ends.
func lines(r *LineReader) []string {
	var list []string
	for {
		ln, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				list = append(list, err.Error())
			}
			return list
		}
		s := fmt.Sprintf("%d@%d %s", ln.Number, ln.Place, ln.Text)
		if ln.TooLong {
			s += "too long"
		}
		if ln.Torn {
			s += " torn"
		}
		list = append(list, s)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"lines", "a\nbc\n", []string{"1@0 a", "2@2 bc"}},
		{"no newline at the end", "a\nbc", []string{"1@0 a", "2@2 bc torn"}},
		{"blank lines", "\n\na\n", []string{"1@0 ", "2@1 ", "3@2 a"}},
		{"at the limit", long[:20] + "\na\n", []string{"1@0 " + long[:20], "2@21 a"}},
		{"over the limit", long + "\na\n", []string{"1@0 too long", "2@101 a"}},
		{"over the limit by one", long[:21] + "\na\n", []string{"1@0 too long", "2@22 a"}},
		{"over the limit and torn", "a\n" + long, []string{"1@0 a", "2@2 too long torn"}},
	}
	for _, tt := range tests {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(tt.text), "bytewise": iotest.OneByteReader(strings.NewReader(tt.text)), "data with end": iotest.DataErrReader(strings.NewReader(tt.text)),
		} {
			if got := lines(NewLineReader(r, 20)); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s, %s: %q, want %q", tt.name, name, got, tt.want)
			}
		}
	}
}

func TestLinesBeforeAnErrorAreRead(t *testing.T) {
	r := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(errors.New("disk is gone")))
	want := []string{"1@0 a", "2@2 b torn", "disk is gone"}
	if got := lines(NewLineReader(r, 20)); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLineMemoryIsBounded(t *testing.T) {
	const limit = 1 << 20
	r := NewLineReader(io.LimitReader(zeros{}, 64<<20), limit)
	ln, err := r.Next()
	if err != nil || !ln.TooLong {
		t.Fatalf("%v %v", ln, err)
	}
	if cap(r.buf) > limit+1 {
		t.Errorf("a line of 64 MB took a buffer of %d bytes, limit is %d", cap(r.buf), limit)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
