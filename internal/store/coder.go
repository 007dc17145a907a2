package store

import (
	"encoding/hex"
	"reflect"
	"runtime"

	"github.com/zeebo/xxh3"
)

// Coder turns values of a type into text and back, for files that another program reads. It is safe for concurrent use.
type Coder[T any] struct {
	kind kind
	// Layout is a digest of how values lie in memory. A text is read where it is the same.
	Layout string
}

// NewCoder returns a coder. types are pointers to what interfaces of values may hold.
func NewCoder[T any](types ...any) (*Coder[T], error) {
	k := newKinds(types).kind(reflect.TypeFor[*T]())
	sum := xxh3.HashString128(runtime.GOARCH + k.layout).Bytes()
	return &Coder[T]{k, hex.EncodeToString(sum[:])}, k.err
}

// Encode returns the text of a value.
func (c *Coder[T]) Encode(v *T) []byte { return c.kind.seal(reflect.ValueOf(v)) }

// Decode reads a text into a value that is zero.
func (c *Coder[T]) Decode(text []byte, v *T) error { return c.kind.open(text, reflect.ValueOf(v)) }
