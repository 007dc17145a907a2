package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// extra stands behind an interface.
type extra struct {
	list []int32
	of   string
}

// sample has every form.
type sample struct {
	Name   string
	Flag   bool
	Rate   float64
	Pair   [2]uint16
	Flat   []struct{ From, To int32 }
	Names  []string
	Nested []struct {
		ID    string
		Spans []int64
	}
	Lists  [2][]int64
	Next   *struct{ Name string }
	Counts map[string]int32
	Index  any
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, new(extra))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is put is got, whatever it is, nil and empty slices apart.
func TestRoundTrip(t *testing.T) {
	s := open(t, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		var want sample
		want.Name, want.Flag, want.Rate = rapid.String().Draw(t, "name"), rapid.Bool().Draw(t, "flag"), rapid.Float64().Draw(t, "rate")
		want.Pair[1] = rapid.Uint16().Draw(t, "pair")
		for range rapid.IntRange(0, 3).Draw(t, "flat") {
			want.Flat = append(want.Flat, struct{ From, To int32 }{rapid.Int32().Draw(t, "from"), 7})
		}
		want.Names = rapid.SliceOf(rapid.String()).Draw(t, "names")
		for _, id := range want.Names {
			want.Nested = append(want.Nested, struct {
				ID    string
				Spans []int64
			}{id, rapid.SliceOf(rapid.Int64()).Draw(t, "spans")})
		}
		want.Lists[1] = rapid.SliceOfN(rapid.Int64(), 1, 3).Draw(t, "list")
		if rapid.Bool().Draw(t, "next") {
			want.Next = &struct{ Name string }{"next"}
		}
		want.Counts = rapid.Custom(func(t *rapid.T) map[string]int32 {
			if rapid.Bool().Draw(t, "nil") {
				return nil
			}
			return rapid.MapOf(rapid.String(), rapid.Int32()).Draw(t, "counts")
		}).Draw(t, "map")
		if rapid.Bool().Draw(t, "index") {
			want.Index = &extra{[]int32{1, 2}, "words"}
		}
		key := Key("k", rapid.String().Draw(t, "key"))
		s.Put(key, &want)
		var got sample
		if !s.Get(key, &got) || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Whatever happens to the bytes of an entry, it is not taken for one.
func TestDamage(t *testing.T) {
	s := open(t, t.TempDir())
	s.Put("k", &sample{Name: "n", Names: []string{"a", "b"}})
	list, err := List(s.dir)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	whole, err := os.ReadFile(list[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(text []byte) {
		if err := os.WriteFile(list[0].Name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var got sample
		if s.Get("k", &got) {
			t.Errorf("%d of %d bytes are taken: %q", len(text), len(whole), text)
		}
	}
	for i := range whole {
		try(whole[:i])
		flipped := []byte(string(whole))
		flipped[i] ^= 1
		try(flipped)
	}
	try(append(whole, 0))
}

// An entry under the name of another one is not taken for that.
func TestSwapped(t *testing.T) {
	s := open(t, t.TempDir())
	s.Put("k", &sample{Name: "n"})
	s.Put("l", &sample{Name: "m"})
	entries := list(t, s.dir)
	a, b := entries[0].Name, entries[1].Name
	if err := errors.Join(os.Rename(a, a+"_"), os.Rename(b, a), os.Rename(a+"_", b)); err != nil {
		t.Fatal(err)
	}
	var got sample
	if s.Get("k", &got) || s.Get("l", &got) {
		t.Errorf("an entry under another name is taken: %+v", got)
	}
}

// Bytes that no value gives are an error and no crash, even under a good digest.
func FuzzGet(f *testing.F) {
	s := open(f, f.TempDir())
	k := s.kind(reflect.TypeFor[*sample]())
	f.Add([]byte("\x02n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v sample
		k.get(&input{rest: data}, reflect.ValueOf(&v).UnsafePointer())
	})
}

// Another program, and a type that has changed, have entries of their own.
func TestNames(t *testing.T) {
	s := open(t, t.TempDir())
	s.Put("k", &struct{ A, B int32 }{1, 2})
	var renamed struct{ B, A int32 }
	var same struct{ A, B int32 }
	if s.Get("k", &renamed) || !s.Get("k", &same) {
		t.Error("fields by other names are read")
	}
	s.program += " of tomorrow"
	if s.Get("k", &same) {
		t.Error("the entry of another program is read")
	}
}

// versioned says its version, which the test changes.
type versioned struct{ N int32 }

var version string

func (*versioned) StoreVersion() string { return version }

// An entry of a type that says its version is read by every program of that version, and by no program of another one.
func TestVersioned(t *testing.T) {
	dir := t.TempDir()
	get := func(program, of string) bool {
		s := open(t, dir)
		s.Share(program)
		version = of
		var v versioned
		return s.Get("k", &v) && v.N == 7 || !s.Put("k", &versioned{7})
	}
	for _, tc := range []struct {
		program, version string
		read             bool
	}{
		{"today", "1", false}, {"tomorrow", "1", true}, {"tomorrow", "2", false}, {"today", "1", true},
		{"today", "", false}, {"tomorrow", "", false}, {"tomorrow", "", true},
	} {
		if got := get(tc.program, tc.version); got != tc.read {
			t.Errorf("program %s, version %q: read is %v", tc.program, tc.version, got)
		}
	}
}

// Nobody else may read a folder or an entry, and nothing but entries stays in it.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such permissions here")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	s.Put("k", &sample{})
	for name, want := range map[string]os.FileMode{dir: 0o700, filepath.Base(list(t, dir)[0].Name): 0o600} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, want %o (%v)", name, info.Mode(), want, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
	if err := Clean(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the folder is still there:", err)
	}
}

func list(t *testing.T, dir string) []Entry {
	t.Helper()
	entries, err := List(dir)
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	return entries
}

// What was used longest ago goes first, down to nine tenths of what a folder may hold; use makes an entry new.
func TestTrim(t *testing.T) {
	s := open(t, t.TempDir())
	for i, key := range []string{"a", "b", "c", "d"} {
		s.Put(key, &sample{Name: strings.Repeat("x", 1000)})
		old := time.Now().Add(time.Duration(i-10) * 24 * time.Hour)
		name, _ := s.name(key, s.kind(reflect.TypeFor[*sample]()))
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	var v sample
	s.Get("a", &v)
	size := list(t, s.dir)[0].Bytes
	if err := trim(s.dir, 3*size); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"a": true, "b": false, "c": false, "d": true} {
		if s.Get(key, &v) != want {
			t.Errorf("%s is there: %t", key, !want)
		}
	}
}

// A folder that cannot be written is one error, and entries are not tried again.
func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(file, "sessions"))
	s.Put("k", &sample{})
	s.Put("l", &sample{})
	if s.Close() == nil {
		t.Error("no error")
	}
}
