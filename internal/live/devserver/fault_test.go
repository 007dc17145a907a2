package devserver_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/live/devserver"
)

// How faults are written.
func TestParseFaults(t *testing.T) {
	for _, tc := range []struct {
		text string
		want devserver.Fault
	}{
		{"529", devserver.Fault{Status: 529}},
		{"429:retry-after=1@2,5-7", devserver.Fault{Status: 429, After: time.Second, Calls: []devserver.Calls{{From: 2, To: 2}, {From: 5, To: 7}}}},
		{"reset@10%", devserver.Fault{Kind: "reset", Share: 0.1}},
		{"loris@1", devserver.Fault{Kind: "loris", Calls: []devserver.Calls{{From: 1, To: 1}}}},
	} {
		got, err := devserver.ParseFaults(tc.text)
		if d := cmp.Diff([]devserver.Fault{tc.want}, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", tc.text, err, d)
		}
	}
	for text, says := range map[string]string{
		"rest": `did you mean "reset"?`, "200": "200 is no error", "": "unknown kind", "429:retry-afer=1": "want retry-after=SECONDS",
		"429:retry-after=soon": "soon", "429:retry-after=-1": "want retry-after=SECONDS",
		"500@0": "want ordinals", "500@5-2": "want ordinals", "500@": "want ordinals", "500@0%": "above 0", "500@101%": "above 0", "500@5e-324%": "above 0",
	} {
		if _, err := devserver.ParseFaults(text); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "fault") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	for _, kind := range devserver.FaultKinds() {
		if _, err := devserver.ParseFaults(kind); err != nil {
			t.Error(err)
		}
	}
}

// Faults meet the requests with their ordinals; the first that fits counts, and
// a share meets about so many, the same ones for a seed.
func TestWhichRequests(t *testing.T) {
	statuses := func(seed uint64, n int, faults ...string) []int {
		s := serve(t, devserver.Options{Seed: seed}, faults...)
		var list []int
		for range n {
			status, _, _ := s.post("/v1/messages", talk(message("user", hello)))
			list = append(list, status)
		}
		return list
	}
	if got, want := statuses(0, 6, "529@2,4-5", "500@4-6"), []int{200, 529, 200, 529, 529, 500}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	a := statuses(1, 300, "500@30%")
	n := 0
	for _, s := range a {
		if s == 500 {
			n++
		}
	}
	if n < 60 || n > 120 { // 90 ± 3.8 standard deviations
		t.Errorf("%d of 300 failed, want about 90", n)
	}
	if !slices.Equal(a, statuses(1, 300, "500@30%")) || slices.Equal(a, statuses(2, 300, "500@30%")) {
		t.Error("which fail does not follow from the seed")
	}
}

// Retry-After comes in whole seconds.
func TestRetryAfter(t *testing.T) {
	s := serve(t, devserver.Options{}, "429:retry-after=1.2@1", "429@2")
	_, h, _ := s.post("/v1/messages", "{}")
	if got := h.Get("Retry-After"); got != "2" {
		t.Errorf("seconds: %q", got)
	}
	_, h, _ = s.post("/v1/messages", "{}")
	if got := h.Get("Retry-After"); got != "" {
		t.Errorf("nothing: %q", got)
	}
}

// A fault of the stream cuts an answer that is not streamed.
func TestFaultsWithoutStream(t *testing.T) {
	for _, kind := range []string{"reset", "cut", "truncated", "malformed"} {
		s := serve(t, devserver.Options{}, kind)
		for _, path := range []string{"/v1/messages", "/v1/chat/completions"} {
			body := talk(message("user", hello))
			if path == "/v1/chat/completions" {
				body = `{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}`
			}
			_, _, text := s.post(path, body)
			if strings.HasSuffix(strings.TrimSpace(text), "}") || !strings.HasPrefix(text, "{") {
				t.Errorf("%s of %s: %s", kind, path, text)
			}
		}
		if c := s.Counts(); c.Requests != 2 || c.Answered != 0 {
			t.Errorf("%s: counts %+v", kind, c)
		}
	}
}
