package store

import (
	"fmt"
	"os"
	"reflect"
)

// Shelf keeps values as long as a program runs, in a temporary file without a name (except on
// Windows), so that a killed program leaves nothing behind. It is safe for concurrent use.
type Shelf struct {
	f *os.File
	*kinds

	ends []int64 // of each value in the file
}

// NewShelf returns an empty shelf. types are pointers to the types that interfaces in values may hold.
func NewShelf(types ...any) (*Shelf, error) {
	f, err := os.CreateTemp("", "sim-sessions-*")
	if err != nil {
		return nil, fmt.Errorf("keep sessions out of memory: %w", err)
	}
	_ = os.Remove(f.Name()) // where an open file keeps its name, Close removes it
	return &Shelf{f: f, kinds: newKinds(types)}, nil
}

// Close drops all values.
func (s *Shelf) Close() {
	_ = s.f.Close()           // no longer needed
	_ = os.Remove(s.f.Name()) // it has none on most systems
}

// Put keeps the value that from points to and returns its number.
func (s *Shelf) Put(from any) (int, error) {
	v := reflect.ValueOf(from)
	k := s.kind(v.Type())
	if k.err != nil {
		return 0, k.err
	}
	b := s.buffer(0)
	defer s.buffers.Put(b)
	*b = k.put(*b, v.UnsafePointer())
	s.mu.Lock()
	n, from64 := len(s.ends), s.end(len(s.ends)-1)
	s.ends = append(s.ends, from64+int64(len(*b)))
	s.mu.Unlock()
	if _, err := s.f.WriteAt(*b, from64); err != nil {
		return 0, fmt.Errorf("keep sessions out of memory: %w", err)
	}
	return n, nil
}

// Get reads the value with a number into what a pointer points to.
func (s *Shelf) Get(n int, into any) error {
	v := reflect.ValueOf(into)
	k := s.kind(v.Type())
	s.mu.Lock()
	from, to := s.end(n-1), s.end(n)
	s.mu.Unlock()
	b := s.buffer(int(to - from))
	defer s.buffers.Put(b)
	_, err := s.f.ReadAt(*b, from)
	if err == nil {
		left := &input{rest: *b}
		k.get(left, v.UnsafePointer())
		err = left.err
	}
	if err != nil {
		return fmt.Errorf("read again what was kept out of memory: %w", err)
	}
	return nil
}

// end returns where a value ends, 0 for the one before the first.
func (s *Shelf) end(n int) int64 {
	if n < 0 {
		return 0
	}
	return s.ends[n]
}
