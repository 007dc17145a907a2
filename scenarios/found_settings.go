package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// settingsOf returns the settings of a session's client that its recording shows, under the generation of its version.
func settingsOf(registry *strategies.Registry, s *traces.Session, prices sim.Prices) sim.Settings {
	own, err := registry.Strategy(results.StrategyOwn)
	if err != nil || len(s.Models) == 0 {
		return sim.Settings{}
	}
	tr := own.For(s.Agent, s.Version(), s.Variant).OwnTrigger()
	if tr == nil {
		return sim.Settings{}
	}
	limits := sim.Limits(s, sim.Compacted(s), prices)
	return sim.SettingsOf(s, tr, &limits)
}

// Followed returns the settings of its own that a session's client followed, as the compactions of the recording show, such as
// CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50, 90,000 tokens; "" for its defaults.
func Followed(registry *strategies.Registry, s *traces.Session, prices *costmodel.Table) string {
	return namesOf(settingsOf(registry, s, prices).List)
}

// foundSettings returns remarks on cells that simulate sessions under settings that their recordings show.
func foundSettings(d *Design, sessions []*traces.Session, found map[string]sim.Settings, run *results.Run) []results.Note {
	byID := map[string]*traces.Session{}
	for _, s := range sessions {
		byID[s.ID] = s
	}
	var notes []results.Note
	for i := range d.Cells {
		c := &d.Cells[i]
		at := slices.IndexFunc(run.Cells, func(r results.Cell) bool { return r.Cell == c.Name })
		if at < 0 || c.Scenario.Client.Window > 0 || c.Scenario.Client.Env.AutoCompactWindow != "" {
			continue
		}
		counts, texts, often, unfit := map[string]int{}, map[string]string{}, "", 0
		for _, row := range run.Cells[at].Rows.All() {
			s := byID[row.Session]
			if s == nil || c.Strategy.For(s.Agent, s.Version(), s.Variant).OwnTrigger() == nil {
				continue
			}
			set := found[s.ID]
			if set.Unfit {
				unfit++
			}
			if len(set.List) > 0 {
				names, text := namesOf(set.List), settingsText(set.List)
				counts[names]++
				if texts[names] == "" || text < texts[names] {
					texts[names] = text
				}
				if often == "" || counts[names] > counts[often] || counts[names] == counts[often] && names < often {
					often = names
				}
			}
		}
		n := 0
		for _, k := range counts {
			n += k
		}
		if n > 0 {
			most := ""
			if len(counts) > 1 {
				most = fmt.Sprintf(", most often (%d)", counts[often])
			}
			notes = append(notes, results.Note{Cell: c.Name, Text: fmt.Sprintf("%s under a setting that the recording shows%s: %s; the preset of the client's version has its default",
				document.Count(n, "session"), most, texts[often])})
		}
		if unfit > 0 {
			notes = append(notes, results.Note{Cell: c.Name, Text: fmt.Sprintf("%s under the client's default: its compactions fit no setting", document.Count(unfit, "session"))})
		}
	}
	return notes
}

// namesOf names the settings that held, in order of time.
func namesOf(list []sim.Setting) string {
	var names []string
	for i := range list {
		names = append(names, list[i].String())
	}
	return strings.Join(names, ", then ")
}

// settingsText says which settings held, and between which sizes their thresholds lie.
func settingsText(list []sim.Setting) string {
	var parts []string
	for i := range list {
		s := &list[i]
		text := s.String()
		if s.Tokens > 0 {
			text += fmt.Sprintf(" (%s: %s tokens went on, %s compacted)", document.Count(s.Firings, "compaction"),
				document.Grouped(float64(s.Low), 0), document.Grouped(float64(s.High), 0))
		}
		if s.From > 0 {
			text = "from " + time.Unix(0, s.From).UTC().Format("2006-01-02 15:04") + " on " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
