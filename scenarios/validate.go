package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
)

// validate reports values that are out of range or contradict each other, with
// the lines of all of them.
func (x *expansion) validate(s *Scenario) {
	if s.Schema != Schema {
		x.contradiction(fmt.Sprintf("schema %d: this version reads schema %d", s.Schema, Schema), "schema")
	}
	if _, err := s.Sessions.Filter().Parse(time.Now(), time.UTC); err != nil {
		x.contradiction("sessions: "+err.Error(), "sessions.since", "sessions.until", "sessions.project", "sessions.model", "sessions.agent")
	}
	for _, err := range x.checker.Flaws(x.tree.Root, s, "") {
		x.once(err)
	}
	x.validateGenerate(&s.Sessions)
	x.validateClient(s)
	x.validateServer(&s.Server)
	x.validateSummarizer(&s.Summarizer)
	x.validateLatency(s)
	x.validateDetector(&s.Detector)
}

func (x *expansion) validateServer(s *Server) {
	before := len(x.errs)
	if s.Lifetime5m <= 0 || s.Lifetime1h <= 0 {
		x.contradiction("a lifetime must be above 0", "server.lifetime_5m", "server.lifetime_1h")
	} else if s.Lifetime5m > s.Lifetime1h {
		x.contradiction(fmt.Sprintf("server.lifetime_5m %s is longer than server.lifetime_1h %s", texted(s.Lifetime5m), texted(s.Lifetime1h)),
			"server.lifetime_5m", "server.lifetime_1h")
	}
	if s.Lookback < 1 {
		x.contradiction(fmt.Sprintf("server.lookback %d must be at least 1", s.Lookback), "server.lookback")
	}
	if s.MaxMarkers < 1 || s.MaxMarkers > prompt.MaxMarkers {
		x.contradiction(fmt.Sprintf("server.max_markers %d must lie in 1…%d", s.MaxMarkers, prompt.MaxMarkers), "server.max_markers")
	}
	if !(s.EvictPerCall >= 0 && s.EvictPerCall <= 1) {
		x.contradiction(fmt.Sprintf("server.evict_per_call %g must lie in 0…1", s.EvictPerCall), "server.evict_per_call")
	}
	x.validateCapacity(s)
	if s.HintAt < 0 {
		x.contradiction(fmt.Sprintf("server.hint_at %d must not be negative", s.HintAt), "server.hint_at")
	}
	if len(x.errs) > before {
		return
	}
	if err := s.Config().Validate(); err != nil {
		x.contradiction(err.Error(), "server")
	}
}

func (x *expansion) validateCapacity(s *Server) {
	if s.Capacity < 0 {
		x.contradiction(fmt.Sprintf("server.capacity %d must not be negative", s.Capacity), "server.capacity")
	}
	if s.CapacityBytes < 0 {
		x.contradiction(fmt.Sprintf("server.capacity_bytes %d must not be negative", s.CapacityBytes), "server.capacity_bytes")
	}
	if s.BytesPerToken < 1 {
		x.contradiction(fmt.Sprintf("server.bytes_per_token %d must be at least 1", s.BytesPerToken), "server.bytes_per_token")
	}
	if s.Capacity > 0 && s.CapacityBytes > 0 {
		x.contradiction("a capacity in tokens and one in bytes contradict each other", "server.capacity", "server.capacity_bytes")
	}
}

func (x *expansion) validateSummarizer(s *Summarizer) {
	if s.Sizing == Sizing(summarizer.Fraction) && s.Share == 0 {
		x.contradiction("summarizer.sizing fraction needs a summarizer.share above 0", "summarizer.sizing", "summarizer.share")
	}
	if s.FirstToken < 0 {
		x.contradiction("summarizer.first_token must not be negative", "summarizer.first_token")
	}
	for _, way := range slices.Sorted(maps.Keys(s.Failures)) {
		if known := strategies.Way(0).Names(); !slices.Contains(known, way) {
			x.contradiction(fmt.Sprintf("summarizer.failures: unknown call %q%s: want %s",
				way, nearest.Hint(way, known), strings.Join(known, " or ")), "summarizer.failures")
		}
	}
	if err := s.Stub().Validate(); err != nil {
		x.contradiction(err.Error(), "summarizer")
	}
}

// contradiction reports a problem of the values at paths, once, at the first of
// them that the file has; the others' places stand behind it.
func (x *expansion) contradiction(text string, paths ...string) {
	var at []string
	var first *yaml.Node
	for _, p := range paths {
		n := spec.Find(x.tree.Root, strings.Split(p, ".")...)
		switch {
		case n == nil && len(paths) == 2:
			at = append(at, p+" by default")
		case n == nil:
		case first == nil:
			first = n
		default:
			at = append(at, p+" at "+x.tree.At(n))
		}
	}
	if first == nil {
		first = x.tree.Root
	}
	if len(at) > 0 && len(paths) > 1 {
		text += " (" + strings.Join(at, ", ") + ")"
	}
	x.once(x.tree.Errorf(first, "%s", text))
}

// texted returns a value as YAML writes it.
func texted(v yaml.Marshaler) string {
	text, err := v.MarshalYAML()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(text)
}

// checkWindow reports thresholds that a window the scenario sets makes
// meaningless, with the places of both.
func (x *expansion) checkWindow(e *entry, v *variant, around []variant) {
	done := map[int64]bool{}
	for _, a := range around {
		window := a.scenario.Client.Window
		if window <= 0 || done[window] {
			continue
		}
		done[window] = true
		err := v.strategy.ValidateFor(&strategies.Reading{Window: window, MaxOutput: client.MaxOutput})
		if err == nil {
			continue
		}
		at := x.tree.At(e.node)
		for _, path := range slices.Sorted(maps.Keys(e.place)) {
			if strings.Contains(path, ".trigger") {
				at = e.place[path]
			}
		}
		place := ""
		if n := spec.Find(x.tree.Root, "client", "window"); n != nil {
			place = " at " + x.tree.At(n)
		}
		x.once(fmt.Errorf("%s: %w (client.window %d%s)", at, err, window, place))
	}
}

// once adds a problem that was not reported yet.
func (x *expansion) once(err error) {
	if !slices.ContainsFunc(x.errs, func(e error) bool { return e.Error() == err.Error() }) {
		x.errs = append(x.errs, err)
	}
}
