package traces

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Open returns the text of the recording, decompressed if its first bytes say
// gzip or zstd. Decompression runs ahead of the reader in a goroutine of its
// own, which ends with Close. Errors do not repeat the file's name.
func (in Input) Open() (io.ReadCloser, error) {
	f, err := in.file()
	if err != nil {
		return nil, errors.New("file cannot be opened: " + reason(err))
	}
	br := bufio.NewReaderSize(f, 64<<10)
	head, err := br.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		f.Close()
		return nil, errors.New("file cannot be read: " + reason(err))
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(br)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("reading gzip: %w", err)
		}
		return newReadAhead(z, f.Close), nil
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("reading zstd: %w", err)
		}
		return newReadAhead(z, func() error { z.Close(); return f.Close() }), nil
	}
	return &plainFile{br, br, f}, nil
}

// file opens the bytes as they are stored.
func (in Input) file() (fs.File, error) {
	if in.fsys != nil {
		return in.fsys.Open(in.path)
	}
	return os.Open(in.path)
}

// plainFile reads through the buffer that looked at the first bytes.
type plainFile struct {
	io.Reader
	br *bufio.Reader
	f  fs.File
}

// Seek moves to an offset of the text, for a caller that knows where a line begins. It is
// errors.ErrUnsupported for a file system whose files cannot.
func (p *plainFile) Seek(offset int64, whence int) (int64, error) {
	s, ok := p.f.(io.Seeker)
	if !ok || whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	n, err := s.Seek(offset, whence)
	p.br.Reset(p.f)
	return n, err
}

// Close closes the file.
func (p *plainFile) Close() error { return p.f.Close() }

// aheadChunk is how much is decompressed while what came before it is parsed.
const aheadChunk = 256 << 10

// readAhead reads its source in a goroutine and hands out what it read.
type readAhead struct {
	*io.PipeReader
	done  chan struct{} // closed when the source is no longer in use
	close func() error
}

func newReadAhead(src io.Reader, closeSource func() error) *readAhead {
	r, w := io.Pipe()
	a := &readAhead{PipeReader: r, done: make(chan struct{}), close: closeSource}
	go func() {
		defer close(a.done)
		// Only Read of the source is used: chunks keep their size, and the error
		// of a short stream is the source's own.
		_, err := io.CopyBuffer(w, struct{ io.Reader }{src}, make([]byte, aheadChunk))
		w.CloseWithError(err)
	}()
	return a
}

// Close stops the goroutine and closes the source.
func (a *readAhead) Close() error {
	_ = a.PipeReader.Close() // always nil
	<-a.done
	return a.close()
}
