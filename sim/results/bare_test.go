package results

import (
	"strings"
	"testing"
)

// bareHead is the head of a file with one cell, of a version that does not list
// its metrics; bareRow is a row of such a cell with every member that a row must have and nothing
// in it.
const (
	bareHead = `{"schema":2,"provenance":{"version":"","seed":0,"sessions_digest":"","prices":"","workload":{"sessions":0,"calls":0}},"cells":[{"cell":"c","strategy":"s","params":{}}]}` + "\n"
	bareRow  = `{"cell":"c","strategy":"s","session":"a","sessions":1,"calls":0,"calls_by_source":{},"tokens":{},"tokens_by_source":{},` +
		`"cost_usd_by_class":{},"cost_usd_by_source":{},"storage_usd":0,"misses":0,"misses_by_class":{},"missed_tokens":0,"hit_calls":0,"later_calls":0,` +
		`"compactions":0,"microcompactions":0,"recompactions":0,"chain_max":0,"peak_context_tokens":0,"overflows":0,"over_window":0,` +
		`"failed_compactions":0,"added_latency_seconds":0,"unpriced_calls":0}` + "\n"
)

// with returns a bare row in which texts are replaced: old and new in turn. Each
// old one is there once.
func with(t *testing.T, change ...string) string {
	t.Helper()
	row := bareRow
	for i := 0; i < len(change); i += 2 {
		if strings.Count(row, change[i]) != 1 {
			t.Fatalf("%s is in the row %d times", change[i], strings.Count(row, change[i]))
		}
		row = strings.Replace(row, change[i], change[i+1], 1)
	}
	return row
}
