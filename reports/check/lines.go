package check

import (
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// verdictLine is one line of the format jsonl: a verdict, with the run that it is of.
type verdictLine struct {
	At       time.Time `json:"at,omitzero"` // the end of the last session
	File     string    `json:"file"`
	Version  string    `json:"version"`
	Sessions int       `json:"run_sessions"`
	Calls    int       `json:"run_calls"`
	Kind     string    `json:"kind"` // run, result or problem

	// Of a run.
	OK      *bool       `json:"ok,omitzero"`
	Verdict string      `json:"verdict,omitzero"`
	Change  *Change     `json:"change,omitzero"`
	Run     *RunFigures `json:"figures,omitzero"`

	*Result // of a result; of a problem the line and the message
}

// lines writes the run, its results and its problems, each as one line of JSON. Lines of many runs can be in one file.
func (r *Report) lines(w io.Writer) error {
	of := verdictLine{At: r.At, File: r.File, Version: r.Version, Sessions: r.Sessions, Calls: r.Calls, Kind: "run"}
	all := []verdictLine{of}
	all[0].OK, all[0].Verdict, all[0].Change = &r.OK, r.Verdict(), r.Change
	if n := len(r.History); n > 0 {
		all[0].Run = &r.History[n-1]
	}
	for i := range r.Results {
		of.Kind, of.Result = "result", &r.Results[i]
		all = append(all, of)
	}
	for _, p := range r.Problems {
		of.Kind, of.Result = "problem", &Result{Line: p.Line, Metric: "check", Status: "problem", Message: p.Text}
		all = append(all, of)
	}
	for i := range all {
		text, err := json.Marshal(&all[i], json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
			return err
		}
	}
	return nil
}
