package traces

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/compactsim/compactsim/internal/kit/files"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Open returns the text of the recording, decompressed if its first bytes say
// gzip or zstd. Errors do not repeat the file's name.
func (in Input) Open() (io.ReadCloser, error) { return in.open(64 << 10) }

// Head returns the first bytes of the text, n at most. A file that is damaged behind them
// is no error.
func (in Input) Head(n int) ([]byte, error) {
	r, err := in.open(max(n, 512))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	head := make([]byte, n)
	n, err = io.ReadFull(r, head)
	if n > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	return head[:n], err
}

// open is Open, reading a number of bytes at a time.
func (in Input) open(size int) (io.ReadCloser, error) {
	f, err := in.file()
	if err != nil {
		return nil, errors.New("file cannot be opened: " + reason(err))
	}
	stored := &stored{f: f}
	br := bufio.NewReaderSize(stored, size)
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
		return &unpacked{z, stored, f.Close}, nil
	case bytes.HasPrefix(head, zstdMagic):
		z, err := decoder(br)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("reading zstd: %w", err)
		}
		return &unpacked{z, stored, sync.OnceValue(func() error { release(z); return f.Close() })}, nil
	}
	return &plainFile{br, br, f}, nil
}

// decoders keeps decoders of zstd: making the window of one takes longer than decoding the head of a file.
// With a concurrency of one they have no goroutines, so that nothing needs to be closed.
var decoders sync.Pool

// decoder returns a decoder of zstd that reads r.
func decoder(r io.Reader) (*zstd.Decoder, error) {
	if z, ok := decoders.Get().(*zstd.Decoder); ok {
		return z, z.Reset(r)
	}
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
}

// release keeps a decoder for another file.
func release(z *zstd.Decoder) {
	if z.Reset(nil) == nil {
		decoders.Put(z)
	}
}

// file opens the bytes as they are stored.
func (in Input) file() (fs.File, error) {
	if in.fsys != nil {
		return in.fsys.Open(in.path)
	}
	if in.spool != nil {
		info, err := in.spool.Stat()
		if err != nil {
			return nil, err
		}
		return spooled{io.NewSectionReader(in.spool, 0, info.Size()), in.spool}, nil
	}
	return files.Open(in.path)
}

// spooled reads standard input from its beginning, several readers at once.
type spooled struct {
	*io.SectionReader
	f *os.File
}

func (s spooled) Stat() (fs.FileInfo, error) { return s.f.Stat() }

// Close leaves the spool open, for other readers.
func (spooled) Close() error { return nil }

// stored counts the bytes of a compressed file that were taken from the disk.
type stored struct {
	f    fs.File
	read int64
}

// Read implements io.Reader.
func (s *stored) Read(p []byte) (int, error) {
	n, err := s.f.Read(p)
	s.read += int64(n)
	return n, err
}

// unpacked is the text of a compressed file. Its errors say how much of the file is not read.
type unpacked struct {
	io.Reader
	s     *stored
	close func() error
}

// Close closes the file.
func (e *unpacked) Close() error { return e.close() }

func (e *unpacked) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	size := e.s.read
	if info, statErr := e.s.f.Stat(); statErr == nil {
		size = info.Size()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, fmt.Errorf("%w: the file is cut off at byte %d, and how much is missing is unknown", err, size)
	}
	left := size - e.s.read
	return n, fmt.Errorf("%w; %d of %d bytes (%.0f %%) are unread", err, left, size, 100*float64(left)/float64(max(1, size)))
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
