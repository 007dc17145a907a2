// Package pseudonym puts keyed pseudonyms in the place of what names sessions, projects, files and people's words, for
// readers who must not see the origin of figures.
package pseudonym

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/results"
)

// MinKey is the least length of a key, bytes.
const MinKey = 16

// Of returns 16 characters that stand for text: the first 80 bits of its
// HMAC-SHA-256 under key in lower-case base32. The same text has the same
// pseudonym everywhere, so that files under one key can be joined; without
// the key nobody can test guesses. Empty text stays empty.
func Of(key []byte, text string) string {
	if text == "" {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)[:10]))
}

// Model returns the name of a model if it has the form of one, else its pseudonym.
func Model(key []byte, name string) string {
	if isModel(name) {
		return name
	}
	return Of(key, name)
}

// Run returns a copy of run without the ids of its sessions and without
// paths and sentences. It judges a name by its form, not by its meaning: a
// deployment, a strategy or a layer named after a project stays, and so do
// dates and figures, which identify the sessions for anybody with the
// recordings. Run keeps the following and replaces everything else:
//
//   - figures, and dates in ISO 8601, stay;
//   - names of strategies, layers, parameters and models stay when they are
//     formed like names; others become pseudonyms;
//   - values of parameters and switches stay when they are numbers, durations,
//     dates, settings such as "off", or names of the run's models and
//     strategies; others become pseudonyms;
//   - session ids, the digest of the sessions and the reasons of layers become
//     pseudonyms;
//   - remarks and notes are dropped: they are sentences about the sessions.
//     results.Run.Footnotes still gives those that follow from the figures.
//
// Rows are sorted by pseudonym, which does not reveal the order of the ids.
func Run(run *results.Run, key []byte) *results.Run {
	a := anonymizer{key: key, known: map[string]bool{}}
	for _, m := range run.Workload.Models {
		a.known[m] = isModel(m)
	}
	for i := range run.Cells {
		a.known[run.Cells[i].Strategy] = isName(run.Cells[i].Strategy)
	}
	out := &results.Run{Provenance: a.provenance(&run.Provenance), Workload: a.workload(&run.Workload), ModelError: run.ModelError}
	for i := range run.Cells {
		out.Cells = append(out.Cells, a.cell(&run.Cells[i]))
	}
	return out
}

type anonymizer struct {
	key   []byte
	known map[string]bool // models and strategies of the run, true for those that stay
}

// unless returns s if it may stay, else its pseudonym.
func (a *anonymizer) unless(stays bool, s string) string {
	if stays {
		return s
	}
	return Of(a.key, s)
}

func (a *anonymizer) name(s string) string  { return a.unless(isName(s), s) }
func (a *anonymizer) value(s string) string { return a.unless(isSetting(s) || a.known[s], s) }
func (a *anonymizer) date(s string) string  { return a.unless(isDate(s), s) }

func (a *anonymizer) provenance(p *results.Provenance) results.Provenance {
	digest := p.PricesDigest
	if digest != "" {
		digest = Of(a.key, digest)
	}
	return results.Provenance{
		Version: a.unless(isVersion(p.Version), p.Version), Seed: p.Seed,
		SessionsDigest: Of(a.key, p.SessionsDigest),
		Prices:         a.date(p.Prices), PricesDigest: digest, Switches: a.settings(p.Switches),
	}
}

func (a *anonymizer) workload(w *results.Workload) results.Workload {
	out := results.Workload{Sessions: w.Sessions, Unfinished: w.Unfinished, Calls: w.Calls, First: a.date(w.First), Last: a.date(w.Last),
		PricesAt: a.unless(isPricesAt(w.PricesAt), w.PricesAt)}
	for _, m := range w.Models {
		out.Models = append(out.Models, a.unless(isModel(m), m))
	}
	for _, s := range w.Quality {
		out.Quality = append(out.Quality, results.Share{Of: a.measure(s.Of), What: a.measure(s.What), Value: s.Value})
	}
	return out
}

// measure keeps the words that describe data quality.
func (a *anonymizer) measure(s string) string {
	return a.unless(slices.Contains([]string{"tokens", "unseen", "outputs", "derived", "calls", "of assumed lifetime"}, s), s)
}

func (a *anonymizer) cell(c *results.Cell) results.Cell {
	out := results.Cell{Cell: a.cellName(c), Strategy: a.name(c.Strategy), Params: a.settings(c.Params), Sessions: c.Sessions,
		Total: a.row(&c.Total)}
	for _, name := range c.Unmeasured {
		if _, ok := results.LookupMetric(name); ok || slices.Contains(results.Groups(), name) {
			out.Unmeasured = append(out.Unmeasured, name)
		}
	}
	for _, r := range c.Rows.All() {
		row := a.row(r)
		out.Rows.Keep(&row)
	}
	out.Rows.Sort()
	return out
}

// cellName returns the name of a cell from the kept forms of its strategy and
// its parameters, " name=value" each; a name of any other form becomes a
// pseudonym.
func (a *anonymizer) cellName(c *results.Cell) string {
	rest, ok := strings.CutPrefix(c.Cell, c.Strategy)
	if !ok {
		return Of(a.key, c.Cell)
	}
	name := a.name(c.Strategy)
	for rest != "" {
		longest := ""
		for _, p := range slices.Sorted(maps.Keys(c.Params)) {
			if set := " " + p + "=" + c.Params[p]; strings.HasPrefix(rest, set) && len(set) > len(longest) {
				longest = set
			}
		}
		if longest == "" {
			return Of(a.key, c.Cell)
		}
		rest = rest[len(longest):]
		p, v, _ := strings.Cut(longest[1:], "=")
		name += " " + a.name(p) + "=" + a.value(v)
	}
	return name
}

func (a *anonymizer) settings(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for name, v := range m {
		out[a.name(name)] = a.value(v)
	}
	return out
}

func (a *anonymizer) row(r *results.Row) results.Row {
	out := *r // all but names and maps are figures
	out.Strategy, out.Session = a.name(r.Strategy), Of(a.key, r.Session)
	if r.Organisation != "" {
		out.Organisation = Of(a.key, r.Organisation)
	}
	out.Firings = a.counts(r.Firings, a.name)
	out.Reasons = a.counts(r.Reasons, func(s string) string {
		layer, reason, ok := strings.Cut(s, ": ")
		if !ok {
			return Of(a.key, s)
		}
		return a.name(layer) + ": " + Of(a.key, reason)
	})
	return out
}

func (a *anonymizer) counts(m map[string]int, rename func(string) string) map[string]int {
	if m == nil {
		return nil
	}
	out := make(map[string]int, len(m))
	for name, n := range m {
		out[rename(name)] += n
	}
	return out
}

// Forms of text that may leave the machine. Text without a harmless form is
// treated as a person's words or paths.
var (
	// A strategy with its variant, a layer, the path of a parameter. No blank,
	// no second slash, no leading dot, slash, tilde or drive.
	nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.+-]{0,63}(/[A-Za-z0-9_.+-]{1,32})?$`)
	// A model as providers write it, with the marker of a large window. A resource
	// name of a cloud, which holds an account, has more colons.
	modelForm = regexp.MustCompile(`^<?[A-Za-z][A-Za-z0-9.-]{0,63}(/[A-Za-z0-9.-]{1,64})?(:\d+)?(@\d{8})?(\[1m\])?>?$`)
	// A number with a unit, or several such numbers as in 1h30m.
	numberForm = regexp.MustCompile(`^[-+]?(\d+(\.\d+)?(e[-+]?\d+)?(%|ns|us|µs|ms|s|m|h|d|k|K|M)?)+$`)
	// A version of this program: released, built from a checkout, or a commit.
	versionForm = regexp.MustCompile(`^(\(?devel\)?|v\d+\.\d+\.\d+(-[0-9A-Za-z.-]{1,40})?(\+[a-z]{1,12})?|[0-9a-f]{7,40}(-dirty)?)$`)
	datesForm   = regexp.MustCompile(`^\d+ dates$`)
)

func isName(s string) bool    { return nameForm.MatchString(s) && !strings.Contains(s, "..") }
func isModel(s string) bool   { return modelForm.MatchString(s) }
func isVersion(s string) bool { return versionForm.MatchString(s) }

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isSetting reports whether s is a value that anybody could have set.
func isSetting(s string) bool {
	return numberForm.MatchString(s) || isDate(s) ||
		slices.Contains([]string{"true", "false", "on", "off", "none", "null", "auto", "default", "call", "today"}, s)
}

// isPricesAt reports whether s is a date of prices in a form that runs have.
func isPricesAt(s string) bool { return s == "call date" || isDate(s) || datesForm.MatchString(s) }
