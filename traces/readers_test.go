package traces

import (
	"runtime/debug"
	"testing"
)

// Readers differ by all that may change what is read, but not by the version of the program; a build that is of no commit has
// none.
func TestReadersOf(t *testing.T) {
	of := func(version, dependency, tags string) string {
		return readersOf(&debug.BuildInfo{
			Main: debug.Module{Version: version}, Deps: []*debug.Module{{Path: "example.com/json", Version: dependency, Sum: "h1:x"}},
			Settings: []debug.BuildSetting{{Key: "-tags", Value: tags}},
		})
	}
	now := of("v1.2.0", "v1.0.0", "")
	if now == "" || of("v1.3.1-0.20261128123500-04d1d1ae0000", "v1.0.0", "") != now {
		t.Error("another version of the program has other readers")
	}
	for _, other := range []string{of("v1.2.0", "v1.0.1", ""), of("v1.2.0", "v1.0.0", "nosqlite")} {
		if other == now {
			t.Error("another dependency or tag has the same readers")
		}
	}
	for _, none := range []string{of("(devel)", "v1.0.0", ""), of("", "v1.0.0", ""), of("v1.2.0+dirty", "v1.0.0", ""), of("v1.2.0", "(devel)", "")} {
		if none != "" {
			t.Errorf("a build of no commit has the readers %q", none)
		}
	}
}
