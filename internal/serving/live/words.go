package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// Text says how many calls were real, and which models have no known price.
func (r *Report) Text(unpriced []string, err error) string {
	var parts []string
	if text := r.sentText(unpriced); text != "" {
		parts = append(parts, text)
	}
	if r.Replayed > 0 {
		parts = append(parts, fmt.Sprintf("%s replayed that cost $%.2f", document.Count(r.Replayed, "call"), r.ReplayedUSD))
	}
	if r.Shared > 0 {
		parts = append(parts, fmt.Sprintf("%s shared within the run", document.Count(r.Shared, "call")))
	}
	if len(parts) == 0 && err != nil {
		return "summaries by real models: no call was answered"
	}
	if len(parts) == 0 {
		return "no summary calls were needed"
	}
	return "summaries by real models: " + strings.Join(parts, ", ")
}

// sentText says what was sent and with what result, "" for nothing.
func (r *Report) sentText(unpriced []string) string {
	if r.Made == 0 {
		return ""
	}
	text := fmt.Sprintf("%s made for $%.2f", document.Count(r.Made, "real call"), r.USD)
	if len(unpriced) > 0 {
		text += ", besides those of " + strings.Join(unpriced, ", ") + ", for which no price is known"
	}
	var lost []string
	if r.Refused > 0 {
		lost = append(lost, fmt.Sprintf("%d refused", r.Refused))
	}
	if r.Unanswered > 0 {
		lost = append(lost, fmt.Sprintf("%d not answered", r.Unanswered))
	}
	if len(lost) > 0 {
		text += ", of which " + strings.Join(lost, " and ")
	}
	if n := r.Retries(); n > 0 {
		text += fmt.Sprintf(" (%s sent again)", document.Count(int(n), "request"))
	}
	return text
}

// Notes are the caveats of figures that depend on real calls.
func (r *Report) Notes() []string {
	var notes []string
	for _, why := range slices.Sorted(maps.Keys(r.Failures)) {
		text := fmt.Sprintf("%s gave no summary: %s", document.Count(r.Failures[why], "real call"), why)
		if n, reason := Refusals(r.Calls); n > 0 && why == string(CauseRequest) {
			text += ": " + reason
		}
		notes = append(notes, text)
	}
	if r.Missing+r.Cut > 0 {
		notes = append(notes, fmt.Sprintf("sections of summaries: %d missing, %d cut to their limit", r.Missing, r.Cut))
	}
	if n := r.Composed.Unseen; n > 0 {
		notes = append(notes, "requests lack about "+Thousands(n)+" bytes of text that no recording shows")
	}
	if n := r.Composed.Lost; n > 0 {
		notes = append(notes, "requests lack "+document.Count(n, "text")+" of earlier summaries, whose words are not known")
	}
	return notes
}

// Refusals counts the calls that a server refused for their content, and gives
// its most frequent reason.
func Refusals(calls []Call) (n int, reason string) {
	of := map[string]int{}
	for i := range calls {
		if why := calls[i].Refused; why != "" {
			of[why]++
			n++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(of)) {
		if of[why] > of[reason] {
			reason = why
		}
	}
	return n, reason
}

// Thousands formats a number of tokens in thousands.
func Thousands(n int64) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}
