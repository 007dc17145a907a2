// Package endings knows the files that hold recordings by how their names end.
package endings

import (
	"slices"
	"strings"
)

// Logs are the endings of the files that traces.Find takes from a folder, beside logs of JSON lines that were rotated (.jsonl.2,
// .jsonl.2.gz). A file that is named is taken whatever its ending.
var Logs = [...]string{".jsonl", ".jsonl.gz", ".jsonl.zst", ".zst", ".zstd"}

// Documents are further endings that traces.Find takes. Many files that are no
// recordings have them. The last ones are the databases of agents.
var Documents = [...]string{".json", ".json.gz", ".json.zst", ".har", "opencode.db", "kilo.db", "sessions.db", "crush.db"}

// passed are endings of files that may hold recordings in a form that is not read, in small letters.
var passed = [...]string{".jsonl", ".ndjson", ".jsonl.bak", ".xz", ".bz2", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".7z"}

// PassedOver returns under what ending a file that is not read is counted, "" for one that
// is no recording. Endings in capitals are counted as they are.
func PassedOver(name string) string {
	kind := ""
	if strings.HasSuffix(beforeRotation(name), ".json") { // a document is rewritten, so an earlier one may be a copy
		return ".json.N"
	}
	for _, e := range passed {
		if n := len(name) - len(e); n >= 0 && len(e) > len(kind) && strings.EqualFold(name[n:], e) {
			kind = name[n:]
		}
	}
	return kind
}

// LookedFor names the endings in errors.
func LookedFor() string {
	return "looked for files ending in " + strings.Join(append(Logs[:], Documents[:]...), ", ")
}

// Recording reports whether traces.Find takes a file with a name from a folder.
func Recording(name string) bool {
	return In(name, Logs[:]) || In(name, Documents[:]) || strings.HasSuffix(beforeRotation(name), ".jsonl")
}

// beforeRotation returns the name that a log had before its writer put it aside with a number: app.jsonl for app.jsonl.2
// and app.jsonl.2.gz; "" for another name.
func beforeRotation(name string) string {
	for _, e := range [...]string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, e)
	}
	rest := strings.TrimRight(name, "0123456789")
	log, ok := strings.CutSuffix(rest, ".")
	if rest == name || !ok {
		return ""
	}
	return log
}

// In reports whether a name ends in one of some endings.
func In(name string, endings []string) bool {
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) })
}
