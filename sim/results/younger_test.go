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

// The parts of a wait add up to the wait.
func TestWaitWithoutParts(t *testing.T) {
	row := with(t, `"added_latency_seconds":0`, `"added_latency_seconds":30`)
	if _, err := ReadRows("f", strings.NewReader(bareHead+row)); err == nil || !strings.HasPrefix(err.Error(), "f:2: added_latency_seconds is 30, but by part 0") {
		t.Errorf("error %v", err)
	}
}

// A metric that a cell lists as unmeasured, or its group or whole, is not listed twice.
func TestUnmeasuredOnce(t *testing.T) {
	head := strings.Replace(bareHead, `"params":{}`, `"params":{},"unmeasured":["misses","tool results","added_latency_seconds","levels of the window"]`, 1)
	head = strings.Replace(head, `,"cells"`, `,"metrics":["calls"],"cells"`, 1)
	run, err := ReadRows("f", strings.NewReader(head+bareRow))
	if err != nil {
		t.Fatal(err)
	}
	list := run.Cells[0].Unmeasured
	if slices.Contains(list, "stored_results") || slices.Contains(list, "blocking_seconds") || slices.Contains(list, "added_latency_seconds_other") || !slices.Contains(list, "dreams") {
		t.Errorf("unmeasured: %v", list)
	}
}
