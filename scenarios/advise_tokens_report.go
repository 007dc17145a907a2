package scenarios

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// tokensNote says what the columns of advice in tokens are.
const tokensNote = "LOGGED is what the logs show. AS IT IS is the client simulated without a change, with the calls that are in no log, " +
	"such as summaries and repeated fetches; % compares each row with it. A five-hour window, or a week, begins with the first logged " +
	"call after the last one ended. PEAK is the fullest window, TYPICAL the median one. Unseen sessions " +
	"are those not used to choose the value. The limits of plans are not known here."

// used says what the logs of all agents show, in tokens.
func (a *Advice) used() string {
	var all prompt.Usage
	for i := range a.Agents {
		t := &a.Agents[i].Use.Logged
		all.Add(&prompt.Usage{Uncached: t.Uncached, Read: t.Read, Write5m: t.Write5m, Write1h: t.Write1h, WriteOther: t.WriteOther, Output: t.Output})
	}
	if all.Input() == 0 {
		return "what was used is not known: the logs have no token counts"
	}
	return fmt.Sprintf("logged: %s input tokens, %s of them read from the cache, and %s output tokens",
		document.Tokens(all.Input()), document.Percent(float64(all.Read)/float64(all.Input())), document.Tokens(all.Output))
}

// inTokens returns what the sessions use, and what to set in each client.
func (a *Advice) inTokens() (list []document.Section) {
	for i := range a.Agents {
		list = append(list, a.Agents[i].section(AsTokens))
	}
	return list
}

// usage is a row of the tables of tokens: what is used, as logged or with a change.
type usage struct {
	label, setting string
	tokens         *Tokens
}

// usages returns the rows of the tables of tokens.
func (x *AgentAdvice) usages() []usage {
	list := []usage{{"logged", "", &x.Use.Logged}, {"as it is", "", &x.Use.AsIs}}
	for i := range x.Changes {
		c := &x.Changes[i]
		list = append(list, usage{strconv.Itoa(i+1) + ". " + c.Does, c.Assign, &c.Tokens})
	}
	if x.Together != nil {
		list = append(list, usage{fmt.Sprintf("%d of them together", len(x.Together.Settings)), "", &x.Together.Tokens})
	}
	return list
}

// tokens returns the tables of tokens: by class, and by window of time.
func (x *AgentAdvice) tokens() []document.Block {
	blocks := []document.Block{x.byClass()}
	w := x.Use.Weights
	if w == nil {
		return append(blocks, document.Text{Text: "No model here has a price, so tokens have no weight; --price-as bills them as another model."})
	}
	if x.Use.Logged.Weighted.Week.Windows > 0 {
		blocks = append(blocks, x.byWindow())
	}
	text := fmt.Sprintf("A cost-weighted token costs as much as an uncached input token of %s at the API; that model's other tokens weigh: %s. "+
		"Calls of other models and price tiers are weighted by their own prices.", w.Model, x.weights())
	if n := x.Use.Undated; n > 0 {
		text += fmt.Sprintf(" %s without a time in no window.", document.Count(n, "session"))
	}
	if x.Unpriced > 0 {
		text += fmt.Sprintf(" %s of models without a price weigh nothing.", document.Count(x.Unpriced, "call"))
	}
	return append(blocks, document.Text{Text: text})
}

// classTitles are the titles of the columns of tokens by class.
var classTitles = [results.NumClasses]string{"UNCACHED", "READ", "WRITTEN 5M", "WRITTEN 1H", "WRITTEN", "OUTPUT"}

// classesUsed reports which classes have a token in any row.
func (x *AgentAdvice) classesUsed() (used [results.NumClasses]bool) {
	for _, u := range x.usages() {
		for i, n := range u.tokens.classes() {
			used[i] = used[i] || n > 0
		}
	}
	return used
}

// weights lists what tokens of the used classes weigh.
func (x *AgentAdvice) weights() string {
	w, used := x.Use.Weights, x.classesUsed()
	var list []string
	for i, weight := range []float64{w.Uncached, w.Read, w.Write5m, w.Write1h, w.WriteOther, w.Output} {
		if used[i] && results.Class(i) != results.ClassUncached {
			list = append(list, fmt.Sprintf("%s %.3g", strings.ToLower(classTitles[i]), weight))
		}
	}
	return strings.Join(list, ", ")
}

// byClass lists tokens by class, without classes that nothing uses.
func (x *AgentAdvice) byClass() *document.Table {
	used := x.classesUsed()
	t := &document.Table{Columns: document.Left("TOKENS")}
	for i, title := range classTitles {
		if used[i] {
			t.Columns = append(t.Columns, document.Right(document.UnitTokens, title)...)
		}
	}
	t.Columns = append(t.Columns, document.Right("", "COST-WEIGHTED", "%")...)
	for i, u := range x.usages() {
		row := []any{u.label}
		for j, n := range u.tokens.classes() {
			if used[j] {
				row = append(row, document.Tokens(n))
			}
		}
		weighted, change := document.Dash, ""
		if w := u.tokens.Weighted; w != nil {
			weighted = document.Tokens(w.All)
			if i > 1 {
				change = document.SignedPercent(w.All/x.Use.AsIs.Weighted.All - 1)
			}
		}
		t.Rows = append(t.Rows, append(row, weighted, change))
	}
	return t
}

// byWindow lists cost-weighted tokens of five hours and of a week.
func (x *AgentAdvice) byWindow() *document.Table {
	logged := x.Use.Logged.Weighted
	t := &document.Table{
		Columns: append(document.Left("COST-WEIGHTED"), document.Right("", "PEAK 5 H", "TYPICAL 5 H", "PEAK WEEK", "TYPICAL WEEK")...),
		Notes: []string{fmt.Sprintf("Of %s of five hours and %s.", document.Count(logged.FiveHours.Windows, "window"),
			document.Count(logged.Week.Windows, "week"))},
	}
	figure := func(n, was float64, changed bool) string {
		text := document.Tokens(n)
		if changed && was > 0 {
			text += " (" + document.SignedPercent(n/was-1) + ")"
		}
		return text
	}
	was := x.Use.AsIs.Weighted
	for i, u := range x.usages() {
		w := u.tokens.Weighted
		t.Rows = append(t.Rows, []any{u.label,
			figure(w.FiveHours.Peak, was.FiveHours.Peak, i > 1), figure(w.FiveHours.Typical, was.FiveHours.Typical, i > 1),
			figure(w.Week.Peak, was.Week.Peak, i > 1), figure(w.Week.Typical, was.Week.Typical, i > 1)})
	}
	return t
}

// classes returns tokens by class.
func (t *Tokens) classes() [results.NumClasses]int64 {
	return [results.NumClasses]int64{t.Uncached, t.Read, t.Write5m, t.Write1h, t.WriteOther, t.Output}
}

// tokenData returns what is used, for programs: a row for the log, one for the client as it is, one for each change
// and one for all of them.
func (a *Advice) tokenData() *document.Table {
	t := &document.Table{Columns: document.Columns("agent", "row", "set", results.NameUncachedTokens, results.NameReadTokens,
		results.NameWrite5mTokens, results.NameWrite1hTokens, results.NameWriteOtherTokens, results.NameOutputTokens,
		"weighted_tokens", "five_hours_peak", "five_hours_typical", "week_peak", "week_typical")}
	for i := range a.Agents {
		for _, u := range a.Agents[i].usages() {
			row := []any{a.Agents[i].Agent, u.label, u.setting}
			for _, n := range u.tokens.classes() {
				row = append(row, n)
			}
			weighted := []any{nil, nil, nil, nil, nil}
			if w := u.tokens.Weighted; w != nil {
				weighted[0] = w.All
				if w.Week.Windows > 0 {
					copy(weighted[1:], []any{w.FiveHours.Peak, w.FiveHours.Typical, w.Week.Peak, w.Week.Typical})
				}
			}
			t.Rows = append(t.Rows, append(row, weighted...))
		}
	}
	return t
}
