package traces

import (
	"io"
	"runtime"
)

// DefaultMaxLine is the longest line that is read, in bytes: a transcript line
// may carry whole files and images in base64.
const DefaultMaxLine = 256 << 20

// DefaultMaxProblems is how many problems are kept per session and per corpus;
// the rest is only counted.
const DefaultMaxProblems = 100

// Options say how recordings are read. The zero value works.
type Options struct {
	Rates       Rates     // tokens per byte of visible blocks; DefaultRates when zero
	Strict      bool      // the first bad line, file or path is an error
	MaxLine     int       // longest line in bytes, longer ones are skipped as a problem; DefaultMaxLine when 0
	Workers     int       // files read at the same time; GOMAXPROCS when 0
	MaxProblems int       // problems kept per session and per corpus; DefaultMaxProblems when 0
	Stdin       io.Reader // what the path "-" reads
	// Progress, when not nil, is told what was read since the last call:
	// decompressed bytes and files finished. It must be safe for concurrent use.
	Progress func(bytes int64, files int)
}

// Watch returns r, or a reader of it that tells Progress of the bytes.
func (o Options) Watch(r io.Reader) io.Reader {
	if o.Progress == nil {
		return r
	}
	return &watched{r, o.Progress}
}

type watched struct {
	r    io.Reader
	tell func(bytes int64, files int)
}

// Read reads and tells how much.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.tell(int64(n), 0)
	return n, err
}

// WithDefaults returns o with defaults in the place of zeros.
func (o Options) WithDefaults() Options {
	if o.Rates == (Rates{}) {
		o.Rates = DefaultRates()
	}
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MaxProblems <= 0 {
		o.MaxProblems = DefaultMaxProblems
	}
	return o
}
