package opencode

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// client is a client that has a store open.
type client struct {
	*testing.T
	path string
	*sql.DB
}

// newClient returns one whose store keeps a write-ahead log, which it does not move into the database.
func newClient(t *testing.T, name string) *client {
	path := filepath.Join(t.TempDir(), name)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c := &client{t, path, db}
	c.exec(`create table session (id text primary key, parent_id text, directory text not null, version text not null, time_created integer)`)
	c.exec(`create table message (id text primary key, session_id text, time_created integer, time_updated integer, data text)`)
	c.exec(`create table part (id text primary key, message_id text, session_id text, time_created integer, data text)`)
	return c
}

func (c *client) exec(text string, args ...any) {
	c.Helper()
	if _, err := c.Exec(text, args...); err != nil {
		c.Fatal(err)
	}
}

// keep writes what an export holds.
func (c *client) keep(export string) {
	var x struct {
		Info     info `json:"info"`
		Messages []struct {
			Info  map[string]jsontext.Value `json:"info"`
			Parts []jsontext.Value          `json:"parts"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(export), &x); err != nil {
		c.Fatal(err)
	}
	var parent any
	if x.Info.Parent != "" {
		parent = x.Info.Parent
	}
	c.exec(`insert into session values(?, ?, ?, ?, ?)`, x.Info.ID, parent, x.Info.Directory, x.Info.Version, x.Info.Time.Created)
	for i, m := range x.Messages {
		id := strings.Trim(string(m.Info["id"]), `"`)
		delete(m.Info, "id")
		data, err := json.Marshal(m.Info, jsontext.WithIndent(" ")) // on several lines
		if err != nil {
			c.Fatal(err)
		}
		c.exec(`insert into message values(?, ?, ?, 0, ?)`, id, x.Info.ID, i, data)
		for k, p := range m.Parts {
			c.exec(`insert into part values(?, ?, ?, 0, ?)`, fmt.Sprintf("prt_%s_%03d", id, k), id, x.Info.ID, string(p))
		}
	}
}

func (c *client) read() (*traces.Corpus, error) {
	in, err := traces.Find(context.Background(), traces.Options{}, c.path)
	if err != nil {
		c.Fatal(err)
	}
	return ReadInputs(context.Background(), traces.Options{}, in, "x")
}

func (c *client) folder() (names []string) {
	list, err := os.ReadDir(filepath.Dir(c.path))
	if err != nil {
		c.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// exports are a session with a compaction, and one with a sub-agent's.
func exports() []string {
	a := newScript("ses_a", "").user(words("fix it\nplease \t"))
	a.answer("", words("I look")+","+a.tool("read", `{"filePath":"/a.go"}`, "package a", ""), 100, 5000, 40, 0)
	a.answer("", words("done"), 200, 5100, 30, 0)
	up := newScript("ses_b", "").user(words("delegate"))
	up.answer("", up.tool("task", `{"prompt":"look"}`, "found", "ses_c"), 100, 4000, 40, 0)
	up.answer("", words("done"), 200, 4100, 30, 0)
	all := []string{a.text(), up.text(), newScript("ses_c", "ses_b").user(words("look")).answer("", words("found"), 50, 3000, 10, 0).text()}
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], `"msg_`, fmt.Sprint(`"msg_`, i))
	}
	return all
}

// A store gives the sessions that its exports give, while the client has it open, when it was killed and its log has no
// index, and when it has been put in order. Nothing is written beside it, and the client goes on.
func TestStore(t *testing.T) {
	files := map[string]string{}
	for i, x := range exports() {
		files[fmt.Sprint(i, ".json")] = x
	}
	want := shapes(agenttest.Read(t, Describe(), files))
	for _, name := range []string{"opencode.db", "kilo.db"} {
		c := newClient(t, name)
		for _, x := range exports() {
			c.keep(x)
		}
		for _, state := range []string{"open", "killed", "in order"} {
			switch state {
			case "killed":
				db, err := os.ReadFile(c.path)
				log, errLog := os.ReadFile(c.path + "-wal")
				if err != nil || errLog != nil || len(log) == 0 {
					t.Fatal(err, errLog, len(log))
				}
				c.path = filepath.Join(t.TempDir(), name)
				if os.WriteFile(c.path, db, 0o600) != nil || os.WriteFile(c.path+"-wal", log, 0o600) != nil {
					t.Fatal("the killed client's files cannot be written")
				}
			case "in order":
				other, err := sql.Open("sqlite", "file:"+c.path)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := other.Exec("pragma wal_checkpoint(truncate)"); err != nil {
					t.Fatal(err)
				}
				other.Close()
			}
			before := c.folder()
			got, err := c.read()
			if err != nil || len(got.Problems) > 0 {
				t.Fatalf("%s, %s: %v, problems %v", name, state, err, got.Problems)
			}
			if diff := cmp.Diff(want, shapes(got)); diff != "" {
				t.Errorf("%s, %s (-exports +store):\n%s", name, state, diff)
			}
			if after := c.folder(); !slices.Equal(before, after) {
				t.Errorf("%s, %s: the folder has %v, and had %v", name, state, after, before)
			}
			if state == "open" {
				c.exec(`update session set version = version`) // nothing is locked
			}
		}
	}
}

// shapes returns what sessions hold, but for their files.
func shapes(c *traces.Corpus) (list []any) {
	for _, s := range c.Sessions {
		blocks := slices.Clone(s.Blocks)
		for i := range blocks {
			blocks[i].Line, blocks[i].Place, blocks[i].File = 0, 0, 0
		}
		list = append(list, []any{s.ID, s.Agent, s.Versions, s.Project, s.Usage(), len(s.Threads), s.Tools, s.Objects, fmt.Sprint(blocks)})
	}
	return list
}

// What is written while a store is read is not seen, or is seen whole; the next reading has it.
func TestStoreGrows(t *testing.T) {
	c := newClient(t, "opencode.db")
	all := exports()
	c.keep(all[0])
	for n, x := range all[1:] {
		got, err := c.read()
		if err != nil || len(got.Sessions) != 1+n {
			t.Fatalf("%v, %d sessions, want %d", err, len(got.Sessions), 1+n)
		}
		c.keep(x)
	}
}

// Texts are read from a store again.
func TestTextsOfAStore(t *testing.T) {
	c := newClient(t, "opencode.db")
	for _, x := range exports() {
		c.keep(x)
	}
	got, err := c.read()
	if err != nil {
		t.Fatal(err)
	}
	in, err := traces.Find(context.Background(), traces.Options{}, c.path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := stored.Source(context.Background(), in.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	said := map[prompt.Digest]bool{}
	for _, one := range texts(text) {
		said[one.Digest] = one.Text != ""
	}
	for _, s := range got.Sessions {
		for i := range s.Blocks {
			if b := &s.Blocks[i]; b.Line > 0 && b.Bytes > 0 && !said[b.Digest] {
				t.Errorf("session %s, line %d: a %s without its text", s.ID, b.Line, b.Kind)
			}
		}
	}
}

// A store that is locked, of another form, damaged or empty is one problem each; what was read before the damage is kept.
func TestBadStores(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(c *client)
		want  string
		left  int
	}{
		"locked": {func(c *client) {
			c.exec("pragma journal_mode=delete")
			c.SetMaxOpenConns(1)
			c.exec("begin exclusive")
		}, "locked by another program", 0},
		"another form": {func(c *client) { c.exec("alter table session rename column directory to folder") }, "another form than expected", 0},
		"no sessions":  {func(c *client) { c.exec("delete from session") }, "no sessions", 0},
		"cut off": {func(c *client) {
			c.exec("pragma wal_checkpoint(truncate)")
			c.DB.Close()
			if err := os.Truncate(c.path, 5000); err != nil {
				c.Fatal(err)
			}
		}, "damaged", 0},
		"a message that is none": {func(c *client) { c.exec(`update message set data = '7' where session_id = 'ses_c'`) }, "message", 2},
	} {
		c := newClient(t, "opencode.db")
		for _, x := range exports() {
			c.keep(x)
		}
		tc.spoil(c)
		got, err := c.read()
		if got == nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := fmt.Sprint(got.Problems)
		for _, s := range got.Sessions {
			text += fmt.Sprint(s.Problems)
		}
		if len(got.Sessions) != tc.left || !strings.Contains(text, tc.want) || len(got.Problems) > 3 {
			t.Errorf("%s: %d sessions, problems %s; want %d and %q", name, len(got.Sessions), text, tc.left, tc.want)
		}
	}
}

// The sample store of 1.18.33, a third of whose messages are in its log alone, has what its export has.
func TestRecordedStore(t *testing.T) {
	lab := filepath.Join("..", "..", "..", "..", "shared", "lab", "sessions", "others")
	if _, err := os.Stat(filepath.Join(lab, "opencode-db")); err != nil {
		t.Skip("the recordings are not here")
	}
	var all [2][]any
	for i, path := range []string{"opencode-db/opencode.db", "opencode-anthropic/ses_de0e1dc61ffeHNSC9IT6d4zTlN.json"} {
		c := &client{T: t, path: filepath.Join(lab, path)}
		got, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		all[i] = shapes(got)
	}
	if diff := cmp.Diff(all[1], all[0]); diff != "" {
		t.Errorf("(-export +store):\n%s", diff)
	}
}

// A store is one file of many sessions: each message that cannot be read is one problem, of one session.
func TestProblemsOfAStoreCountOnce(t *testing.T) {
	c := newClient(t, "opencode.db")
	for _, id := range []string{"ses_a", "ses_b", "ses_c"} {
		c.exec(`insert into session values (?, null, '/r', '1.2.20', 1780000000000)`, id)
		c.exec(`insert into message values (?, ?, 1780000000000, 1780000000000, ?)`, "msg_"+id, id,
			`{"role":"assistant","time":{"created":1780000000000,"completed":1780000004000},"modelID":"claude-sonnet-4-5","providerID":"anthropic","tokens":{"input":10,"output":50,"cache":{"read":0,"write":5000}}}`)
		c.exec(`insert into message values (?, ?, 1780000005000, 1780000005000, '{')`, "msg_"+id+"_broken", id)
	}
	corpus, err := c.read()
	if err != nil || len(corpus.Sessions) != 3 {
		t.Fatalf("%v, %v", corpus, err)
	}
	broken := 0
	for _, s := range corpus.Sessions {
		for _, p := range s.Problems {
			if strings.Contains(p.Text, "message:") {
				broken++
			}
		}
	}
	if broken != 3 || corpus.BadLines != 3 {
		t.Errorf("%d messages told as broken and %d bad lines, want 3 of each, in %v", broken, corpus.BadLines, corpus.Sessions[0].Problems)
	}
}
