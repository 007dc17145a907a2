package results

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A metric that the writer of a file did not list is unmeasured in it, not 0; so
// are the parts of what it did not list. What it lists is 0 where rows leave it out.
func TestMetricYoungerThanTheFile(t *testing.T) {
	head := strings.Replace(bareHead, `,"cells"`, `,"metrics":["cost_usd","calls","misses","misses_edit","dreams"],"cells"`, 1)
	run, err := ReadRows("f", strings.NewReader(head+bareRow))
	if err != nil {
		t.Fatal(err)
	}
	var measured []string
	for _, m := range Metrics() {
		if _, ok := run.Cells[0].Value(m); ok {
			measured = append(measured, m.Name)
		}
	}
	if diff := cmp.Diff([]string{"cost_usd", "calls", "misses", "misses_edit", "dreams"}, measured); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	if err := WriteRows(&b, run); err != nil {
		t.Fatal(err)
	}
	again, err := ReadRows("again", &b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run, again, sameRows); diff != "" {
		t.Errorf("written and read again (-want +got):\n%s", diff)
	}
}

// A file without a list is of a version that may not have known what no row has a
// figure of: times at levels, counts, and the parts of a wait. Sums that every row
// has are measured with their parts, since these are all of them.
func TestFileWithoutListOfMetrics(t *testing.T) {
	row := with(t, `"unpriced_calls":0`, `"seconds_at_level":{"error":2},"counts":{"dreams":1},"unpriced_calls":0`,
		`"added_latency_seconds":0`, `"added_latency_seconds":30`)
	run, err := ReadRows("f", strings.NewReader(bareHead+row))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"error_seconds": true, "blocking_seconds": false, "dreams": true, "stored_results": false,
		"net_negative_compactions": false, "added_latency_seconds": true, "added_latency_seconds_compaction": false,
		"cost_usd_agent": true, "misses_edit": true, "overflows": true} {
		m, _ := LookupMetric(name)
		if _, ok := run.Cells[0].Value(m); ok != want {
			t.Errorf("%s is measured: %v, want %v", name, ok, want)
		}
	}
}

// The parts of a wait are all of it when the writer knew them.
func TestWaitWithoutParts(t *testing.T) {
	head := strings.Replace(bareHead, `,"cells"`, `,"metrics":["added_latency_seconds_other"],"cells"`, 1)
	row := with(t, `"added_latency_seconds":0`, `"added_latency_seconds":30`)
	if _, err := ReadRows("f", strings.NewReader(head+row)); err == nil || !strings.HasPrefix(err.Error(), "f:2: added_latency_seconds is 30, but by part 0") {
		t.Errorf("error %v", err)
	}
}

// What a cell lists as unmeasured, or the group or whole of it, is not listed twice.
func TestUnmeasuredOnce(t *testing.T) {
	head := strings.Replace(bareHead, `"params":{}`, `"params":{},"unmeasured":["misses","tool results","added_latency_seconds","levels of the window"]`, 1)
	run, err := ReadRows("f", strings.NewReader(head+bareRow))
	if err != nil {
		t.Fatal(err)
	}
	list := run.Cells[0].Unmeasured
	if slices.Contains(list, "stored_results") || slices.Contains(list, "blocking_seconds") || slices.Contains(list, "added_latency_seconds_other") || !slices.Contains(list, "dreams") {
		t.Errorf("unmeasured: %v", list)
	}
}
