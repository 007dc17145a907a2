package store

import (
	"encoding/hex"
	"reflect"
	"runtime"

	"github.com/zeebo/xxh3"
)

// Coder turns values of a type into text and back, for files that are exchanged between programs. It is safe for
// concurrent use.
type Coder[T any] struct {
	kind kind
	// Layout is a digest of the memory layout of values. Only programs with the same layout can read a text.
	Layout string
}

// NewCoder returns a coder. types are pointers to the types that interfaces in values may hold.
func NewCoder[T any](types ...any) (*Coder[T], error) {
	k := newKinds(types).kind(reflect.TypeFor[*T]())
	sum := xxh3.HashString128(runtime.GOARCH + k.layout).Bytes()
	return &Coder[T]{k, hex.EncodeToString(sum[:])}, k.err
}

// Encode returns the text of a value.
func (c *Coder[T]) Encode(v *T) []byte { return c.kind.seal(reflect.ValueOf(v)) }

// Decode reads a text into a value that is zero.
func (c *Coder[T]) Decode(text []byte, v *T) error { return c.kind.open(text, reflect.ValueOf(v)) }
