package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// A bill is what a run cost, and where its client compacted.
type bill struct {
	Run     string           `json:"run"`
	Version string           `json:"version"` // of the client
	Calls   int              `json:"calls"`
	Models  map[string]usage `json:"models"` // tokens by model
	// Compactions are the first thread's, in order. Rounds are places in its main calls at which the agent fetched
	// what the request lacked. Again counts the fetches of something that the agent had been shown before.
	Compactions []compaction `json:"compactions,omitempty"`
	Rounds      []int        `json:"rounds,omitempty"`
	Again       int          `json:"again,omitempty"`
	Things      int          `json:"things,omitempty"` // that were fetched after they had been shown
}

// A compaction is one in the order of main calls.
type compaction struct {
	Call   int `json:"call"`   // main calls before it
	Before int `json:"before"` // tokens of the main call before
	After  int `json:"after"`  // tokens of the main call behind
}

// newBill adds up the calls of a run.
func newBill(r *run, rows []callRow) *bill {
	b := &bill{Run: r.Name, Version: packs[r.Client].version, Calls: len(rows), Models: map[string]usage{}}
	pending, calls, before := false, 0, 0
	for _, c := range rows {
		u := b.Models[c.Model]
		u.Uncached, u.Read, u.Output = u.Uncached+c.Usage.Uncached, u.Read+c.Usage.Read, u.Output+c.Usage.Output
		u.Write5m, u.Write1h = u.Write5m+c.Usage.Write5m, u.Write1h+c.Usage.Write1h
		b.Models[c.Model] = u
		switch {
		case c.Thread != "main":
		case c.Kind == "compact":
			pending = true
		case c.Kind == "main":
			if pending && c.Usage.prompt() < before { // a summary that is written beside the conversation takes its place calls later
				b.Compactions = append(b.Compactions, compaction{calls, before, c.Usage.prompt()})
				pending = false
			}
			if c.Fetched > 0 {
				b.Rounds = append(b.Rounds, calls)
			}
			if c.Again > 0 {
				b.Again++
				b.Things += c.Again
			}
			before = c.Usage.prompt()
			calls++
		}
	}
	return b
}

// moved says what a client does otherwise than when the run was last billed. What predictions do otherwise the limits say.
func moved(was, now *bill) string {
	tokens := func(b *bill) (n int) {
		for _, u := range b.Models {
			n += u.prompt()
		}
		return n
	}
	if reflect.DeepEqual(was.Models, now.Models) && slices.Equal(was.Compactions, now.Compactions) {
		return now.Run + ": the client did the same, to the token"
	}
	text := fmt.Sprintf("%s: %s %d calls, %d tokens, %d compactions; %s %d, %d, %d", now.Run, was.Version, was.Calls, tokens(was), len(was.Compactions),
		now.Version, now.Calls, tokens(now), len(now.Compactions))
	for i, c := range now.Compactions {
		if i >= len(was.Compactions) || was.Compactions[i] != c {
			return text + fmt.Sprintf("; the first compaction that is another is number %d, at call %d from %d to %d tokens", i+1, c.Call, c.Before, c.After)
		}
	}
	return text
}

// keep takes what a run left in folder into the experiment: its bill, and its recording if it is predicted from.
func keep(r *run, folder, into string, recording bool) error {
	text, err := os.ReadFile(filepath.Join(folder, "calls.json"))
	if err != nil {
		return err
	}
	var rows []callRow
	if err := json.Unmarshal(text, &rows); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	var list []sent
	if text, err = os.ReadFile(filepath.Join(folder, "sent.json")); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	if err := secondOpinion(list, rows); err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	bills, err := readBills(into)
	if err != nil {
		return err
	}
	now := newBill(r, rows)
	if was := bills[r.Name]; was != nil {
		fmt.Println(moved(was, now))
	}
	bills[r.Name] = now
	if err := writeBills(into, bills); err != nil || !recording {
		return err
	}
	from, to := filepath.Join(folder, "home", logs[r.Client]), filepath.Join(into, "recordings", r.Name)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	dict, err := dictionary(r.Script)
	if err != nil {
		return err
	}
	m := newMasker(r)
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != from {
			return fs.SkipDir // an index
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".jsonl") && !strings.HasSuffix(name, ".json") {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text, err = pressed(m.numbered(m.json(text)), dict)
		if err != nil {
			return err
		}
		return put(filepath.Join(to, string(m.numbered([]byte(rel))))+".zst", string(text), 0o644)
	})
}

// readBills reads all bills by run.
func readBills(folder string) (map[string]*bill, error) {
	bills := map[string]*bill{}
	text, err := os.ReadFile(filepath.Join(folder, "bills.jsonl"))
	if err != nil {
		if os.IsNotExist(err) {
			return bills, nil
		}
		return nil, err
	}
	for line := range bytes.Lines(text) {
		b := &bill{}
		if err := json.Unmarshal(line, b); err != nil {
			return nil, fmt.Errorf("bills.jsonl: %w", err)
		}
		bills[b.Run] = b
	}
	return bills, nil
}

// writeBills writes all bills, a line each, in the order of their runs' names.
func writeBills(folder string, bills map[string]*bill) error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(bills)) {
		line, err := json.Marshal(bills[name])
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return os.WriteFile(filepath.Join(folder, "bills.jsonl"), b.Bytes(), 0o644)
}
