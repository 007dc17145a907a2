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
// gzip or zstd. Decompression runs ahead of the reader in a goroutine of its
// own, which ends with Close. Errors do not repeat the file's name.
func (in Input) Open() (io.ReadCloser, error) {
	r, err := in.open(64 << 10)
	if z, ok := r.(*unpacked); ok {
		return newReadAhead(z, z.Close), nil
	}
	return r, err
}

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

// open is Open without a goroutine, reading a number of bytes at a time.
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
		return &unpacked{Reader: z, s: stored, close: f.Close}, nil
	case bytes.HasPrefix(head, zstdMagic):
		z, err := decoder(br)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("reading zstd: %w", err)
		}
		return &unpacked{Reader: z, s: stored, close: sync.OnceValue(func() error { release(z); return f.Close() })}, nil
	}
	return &plainFile{br, br, f}, nil
}

// ErrBomb is wrapped by the error of a file that unpacks to much more than any recording does.
var ErrBomb = errors.New("it is taken for a bomb and is not read; unpack it to have it read")

// A bomb unpacks to at least so many bytes, and to so many times its size: recordings are up to 70 times their size.
const (
	leastBomb = 64 << 20
	bombTimes = 200
)

// Size returns the size of the file as it lies there, bytes, or -1 where that cannot be known: who reads the file says why.
func (in Input) Size() int64 {
	f, err := in.file()
	if err != nil {
		return -1
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return -1
	}
	return info.Size()
}

// Emptied returns an input of the same name without text.
func (in Input) Emptied() Input { return Input{Name: in.Name, fsys: noText{}} }

// noText has one file, which is empty.
type noText struct{ fs.FileInfo }

func (noText) Open(string) (fs.File, error) { return noText{}, nil }
func (n noText) Stat() (fs.FileInfo, error) { return n, nil }
func (noText) Read([]byte) (int, error)     { return 0, io.EOF }
func (noText) Close() error                 { return nil }
func (noText) Size() int64                  { return 0 }

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
	n     int64 // bytes read so far
	whole int64 // size of the file as it lies there, once known
}

// Close closes the file.
func (e *unpacked) Close() error { return e.close() }

// Read implements io.Reader. What is much more than the file can hold of a recording is an error that wraps ErrBomb, wherever lines end.
func (e *unpacked) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	e.n += int64(n)
	if e.n >= leastBomb && e.n/bombTimes > e.size() {
		return 0, fmt.Errorf("%d bytes unpack to %d MiB and more: %w", e.size(), e.n>>20, ErrBomb)
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	size := e.size()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, fmt.Errorf("%w: the file is cut off at byte %d, and how much is missing is unknown", err, size)
	}
	left := size - e.s.read
	switch {
	case e.n == 0: // such as one that was packed with a dictionary
		return n, fmt.Errorf("%w; nothing of the file's %d bytes is read", err, size)
	case left == 0: // the decoder had taken in all of them
		return n, fmt.Errorf("%w; how much of the file's %d bytes is unread is unknown", err, size)
	}
	return n, fmt.Errorf("%w; %d of %d bytes (%.0f %%) are unread", err, left, size, 100*float64(left)/float64(max(1, size)))
}

// size returns the size of the file as it lies there, bytes, or the bytes read so far where the file does not say its size.
func (e *unpacked) size() int64 {
	if e.whole > 0 {
		return e.whole
	}
	info, err := e.s.f.Stat()
	if err != nil {
		return e.s.read
	}
	e.whole = info.Size()
	return e.whole
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

const (
	aheadChunk = 256 << 10
	aheadDepth = 4
)

// readAhead reads its source in a goroutine, several chunks ahead of the parser. A
// pipe would hold one chunk and so read a compressed file a third slower.
type readAhead struct {
	full  chan chunk
	free  chan []byte
	stop  chan struct{}
	close func() error
	cur   chunk
	off   int
}

type chunk struct {
	b   []byte
	err error
}

func newReadAhead(src io.Reader, closeSource func() error) *readAhead {
	r := &readAhead{
		full:  make(chan chunk, aheadDepth),
		free:  make(chan []byte, aheadDepth),
		stop:  make(chan struct{}),
		close: closeSource,
	}
	for range aheadDepth {
		r.free <- nil // made when it is needed: most files fit into one
	}
	go r.fill(src)
	return r
}

func (r *readAhead) fill(src io.Reader) {
	defer close(r.full)
	for {
		var b []byte
		select {
		case b = <-r.free:
		case <-r.stop:
			return
		}
		if b == nil {
			b = make([]byte, aheadChunk)
		}
		n, err := fillChunk(src, b[:aheadChunk])
		select {
		case r.full <- chunk{b[:n], err}:
		case <-r.stop:
			return
		}
		if err != nil {
			return
		}
	}
}

// fillChunk reads until b is full or the source ends, with the source's own
// error: io.ReadFull would hide whether a short stream was torn.
func fillChunk(src io.Reader, b []byte) (int, error) {
	n := 0
	for n < len(b) {
		m, err := src.Read(b[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Read copies what was decompressed.
func (r *readAhead) Read(p []byte) (int, error) {
	for r.off == len(r.cur.b) {
		if r.cur.err != nil {
			return 0, r.cur.err
		}
		if r.cur.b != nil {
			r.free <- r.cur.b[:0]
		}
		c, ok := <-r.full
		if !ok {
			return 0, io.ErrClosedPipe
		}
		r.cur, r.off = c, 0
	}
	n := copy(p, r.cur.b[r.off:])
	r.off += n
	return n, nil
}

// Close stops the goroutine and closes the source.
func (r *readAhead) Close() error {
	close(r.stop)
	for range r.full { // until fill has returned: the source must not be in use
	}
	return r.close()
}
