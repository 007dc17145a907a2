package traces

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// readers is a digest of the sources that sessions are read by: tokens of Go files without comments, and what is embedded,
// of traces/agents, sim/needs and all that they import. TestReaders computes it again.
const readers = "878c5a0460170b5a"

// Readers identifies what sessions are read by: sources, their dependencies, compiler, platform and build tags. Programs
// with the same one read the same sessions from the same files. It is "" for a program that cannot tell, as
// it was built from sources that are in no commit or under no version control.
var Readers = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return readersOf(info)
})

func readersOf(info *debug.BuildInfo) string {
	v := info.Main.Version
	if v == "" || v == "(devel)" || strings.Contains(v, "+dirty") {
		return ""
	}
	var b strings.Builder
	fmt.Fprint(&b, readers, " ", info.GoVersion, " ", runtime.GOOS, "/", runtime.GOARCH)
	for _, d := range info.Deps {
		for ; d != nil; d = d.Replace {
			if v := d.Version; d.Replace == nil && (v == "" || v == "(devel)") {
				return "" // a folder
			}
			fmt.Fprint(&b, " ", d.Path, " ", d.Version, " ", d.Sum)
		}
	}
	for _, s := range info.Settings {
		if s.Key == "-tags" {
			fmt.Fprint(&b, " ", s.Value)
		}
	}
	return b.String()
}
