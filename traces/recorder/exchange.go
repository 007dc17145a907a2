package recorder

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/klauspost/compress/zstd"
)

// quiet drops what the forwarder logs: clients that go away.
var quiet = log.New(io.Discard, "", 0)

type exchangeKey struct{}

// exchange is a request with its response.
type exchange struct {
	start, end        time.Time
	url               string // without a query, which may hold a key
	request, response []byte
	coding, encoding  string // of their bodies
	status            int    // 0 for no answer
	failure           string
}

// tapped is the body of a response of which what is read is kept.
type tapped struct {
	io.ReadCloser
	to *exchange
}

func (t *tapped) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	t.to.response = append(t.to.response, b[:n]...)
	return n, err //nolint:wrapcheck // it is the body's own
}

// write writes the calls until the recorder is closed. Behind an error it writes no more, and calls go on.
func (r *Recorder) write(log io.Writer) {
	w := bufio.NewWriterSize(log, 1<<16)
	var failed error
	for x := range r.lines {
		if failed != nil {
			continue
		}
		x.writeTo(w)
		failed = w.Flush()
	}
	r.written <- failed
}

// writeTo writes an exchange as a line: {"start": …, "end": …, "request": {"method": …, "url": …, "body": …}, "response":
// {"status_code": …, "body": …}}. A body that is no JSON, such as a stream of events, is a text: body_raw. Bodies are large
// and are copied as they are; w keeps its error.
func (x *exchange) writeTo(w *bufio.Writer) {
	fmt.Fprintf(w, `{"start":%q,"end":%q,"request":{"method":"POST","url":%s`,
		x.start.UTC().Format(time.RFC3339Nano), x.end.UTC().Format(time.RFC3339Nano), quoted(x.url))
	writeBody(w, x.request, x.coding)
	fmt.Fprintf(w, `},"response":{"status_code":%d`, x.status)
	writeBody(w, x.response, x.encoding)
	if x.failure != "" {
		fmt.Fprintf(w, `,"error":%s`, quoted(x.failure))
	}
	_, _ = w.WriteString("}}\n")
}

// writeBody writes a body under a coding as a member of an object.
func writeBody(w *bufio.Writer, body []byte, coding string) {
	if plain, err := decoded(body, coding); err == nil {
		body = plain
	}
	switch {
	case len(body) == 0:
		return
	case !json.Valid(body):
		_, _ = w.WriteString(`,"body_raw":`)
		body = quoted(string(body))
	default:
		_, _ = w.WriteString(`,"body":`)
		if bytes.ContainsAny(body, "\n\r") { // of white space: a line has none
			var line bytes.Buffer
			_ = json.Compact(&line, body) // it is valid
			body = line.Bytes()
		}
	}
	_, _ = w.Write(body)
}

// quoted returns a text as JSON.
func quoted(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text can be written
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decoded undoes a coding of a body, as far as the body goes.
func decoded(body []byte, coding string) ([]byte, error) {
	var r io.Reader
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		r = flate.NewReader(bytes.NewReader(body))
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1)); err == nil {
			defer d.Close()
			r = d
		}
	default:
		return body, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // the body is written as it came
	}
	plain, err := io.ReadAll(r)
	if len(plain) > 0 {
		return plain, nil // of a body that was cut off, what there is
	}
	return nil, err //nolint:wrapcheck // see above
}
