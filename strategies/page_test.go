package strategies

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
)

const strategiesPage = "../docs/strategies.md"

const pageHead = `# Strategies of other programs

Every way of managing a context that [sim](../README.md) knows of another agent, library or paper: where it acts in a window of 200,000
tokens with 32,000 tokens of output, its layers, how sure it is, its date and its source; then what it does. ` + "`sim strategies show NAME`" + `
prints every constant, ` + "`sim run --strategy NAME`" + ` replays sessions under it, ` + "`--strategy 'cline/*'`" + ` under all that match,
and ` + "`--strategy all`" + ` under all that can be replayed.

*Run* is a strategy observed by running the program, in the version that is named: agents sent their requests to a server that saw each, or
people recorded them; most libraries ran in one process with a scripted class in the place of their model, and no network
([libraries.md](libraries.md)). Where a provider compacts on its server, that side is played as documented. *Read* is one that was read in its source, *documented* one that its maker describes, *reported* one that others do, *idealised* a schedule
that no program runs as it is. Numbers marked as assumed in the preset are in no source. Where recordings of a client show something else,
its [generation](thresholds.md#generations-of-clients) follows the recordings. A strategy whose model decides what goes cannot be replayed
from a recording and is listed as not run. [libraries.md](libraries.md) holds presets of libraries against the libraries as they run.
`

// The page of strategies has two lines for each preset of another program. SIM_UPDATE_DOCS=1 writes it.
func TestStrategiesPage(t *testing.T) {
	r := builtin(t)
	var b strings.Builder
	b.WriteString(pageHead)
	group := ""
	for _, name := range r.Presets() {
		s := preset(t, r, name)
		own := s.Group
		if own == "" && s.Generation.Agent != "" {
			own = "generations of clients"
		}
		if own == "" {
			continue
		}
		if own != group {
			group = own
			fmt.Fprintf(&b, "\n## %s\n\n", strings.ToUpper(group[:1])+group[1:])
		}
		o := &s.Origin
		line := fmt.Sprintf("- **`%s`**", name)
		switch levels := pageLevels(s); {
		case o.NotRun != "":
			line += " not run: " + o.NotRun
		case levels == "":
			line += " " + s.InUse() + ", never by itself"
		default:
			line += " " + s.InUse() + " at " + levels
		}
		if o.Certainty != certainOwn {
			line += fmt.Sprintf(" · %s, %s · %s", o.Certainty, o.AsOf, o.Source)
		}
		fmt.Fprintf(&b, "%s\n  <br>%s\n", line, strings.Join(strings.Fields(s.Doc), " "))
	}
	if os.Getenv("SIM_UPDATE_DOCS") != "" {
		if err := os.WriteFile(strategiesPage, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(strategiesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != b.String() {
		t.Error("docs/strategies.md does not tell the presets: SIM_UPDATE_DOCS=1 go test ./strategies -run TestStrategiesPage writes it")
	}
}

// pageLevels returns the levels at which a strategy acts, with their units.
func pageLevels(s *Strategy) string {
	var list []string
	for _, th := range s.Thresholds(&Reading{Window: 200_000, MaxOutput: 32_000}) {
		text := fmt.Sprint(th.Value)
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		switch {
		case th.Measure == MeasureIdle:
			text = document.Seconds(time.Duration(th.Value).Seconds()) + " of pause"
		case th.Measure == measureGain:
			text += " tokens to gain"
		case th.Measure == measureSince:
			text += " tokens behind the head or a summary"
		case !th.Measure.tokens():
			text += " " + th.Measure.String()
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Every generation of Claude Code says where it is from: run of a version on a date, documented, or reported.
func TestGenerationsSayTheirOrigin(t *testing.T) {
	r := builtin(t)
	for _, g := range r.Generations() {
		if o := &g.Origin; g.Generation.Agent == "claude-code" && (o.Certainty == certainOwn || o.AsOf == "" || o.Source == "") {
			t.Errorf("%s: %s, %q, %q", g.Name, o.Certainty, o.AsOf, o.Source)
		}
	}
	if s := preset(t, r, "claude-code/2026-11"); s.Origin.Certainty != certainRun {
		t.Errorf("%s is %s, and was run", s.Name, s.Origin.Certainty)
	}
}
