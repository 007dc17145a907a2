package calls

import "testing"

// The name of a call is read as it is written, with an id that has colons and slashes too;
// the name of a session is none.
func TestName(t *testing.T) {
	for want, in := range map[string]struct {
		id   string
		file uint16
		line int32
	}{"ab:7": {"ab", 0, 7}, "ab/2:7": {"ab", 1, 7}, "a:b/c:7": {"a:b/c", 0, 7}} {
		if got := Name(in.id, in.file, in.line); got != want {
			t.Errorf("%+v is named %q, want %q", in, got, want)
		}
		id, file, line, ok := ParseName(want)
		if !ok || id != in.id || file != in.file || line != in.line {
			t.Errorf("%q is %q, file %d, line %d, %v", want, id, file, line, ok)
		}
	}
	for _, name := range []string{"", "ab", "ab:", "ab:x", "ab:0"} {
		if _, _, _, ok := ParseName(name); ok {
			t.Errorf("%q names a call", name)
		}
	}
}
