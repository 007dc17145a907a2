package agents

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// database makes a database of a name by some statements. It stays open, so that what is in its write-ahead log stays there.
func database(t *testing.T, name string, statements ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(text, err)
		}
	}
	return path
}

// ofGoose are the statements that make a database of Goose with one call.
var ofGoose = []string{
	`create table sessions (id text primary key, working_dir text, created_at text)`,
	`create table messages (id integer primary key, message_id text, session_id text, role text, content_json text, created_timestamp integer, metadata_json text)`,
	`insert into sessions values ('s1', '/p', '2026-11-29')`,
	`insert into messages (session_id, role, content_json, created_timestamp) values ('s1', 'user', '[{"type":"text","text":"hi"}]', 1795993500)`,
	`insert into messages (session_id, role, content_json, created_timestamp, metadata_json) values ('s1', 'assistant', '[{"type":"text","text":"ho"}]', 1795993510,
		'{"userVisible":true,"agentVisible":true,"usage":{"model":"claude-sonnet-4-6","inputTokens":900,"outputTokens":5,"totalTokens":905}}')`,
}

// A database is its client's by its tables, wherever these stand: 300 messages and then 30 indexes move the schema behind the
// 64 KiB that are looked at, and a schema may be in the write-ahead log alone.
func TestDatabasesAreToldByTheirTables(t *testing.T) {
	var grown []string
	for range 300 {
		grown = append(grown, `insert into messages (session_id, role, content_json, created_timestamp) values ('s2', 'user', '"`+strings.Repeat("x", 2000)+`"', 1)`)
	}
	for i := range 30 {
		grown = append(grown, fmt.Sprintf("create index index_with_a_long_name_%d on messages (session_id, role, created_timestamp, message_id, metadata_json, id)", i))
	}
	for name, statements := range map[string][]string{
		"a grown schema":         append(slices.Clone(ofGoose), grown...),
		"a write-ahead log":      append([]string{`pragma journal_mode=wal`}, ofGoose...),
		"a schema changed since": append(slices.Clone(ofGoose), `alter table messages add column more text`),
	} {
		in, err := traces.Find(t.Context(), traces.Options{}, database(t, "sessions.db", statements...))
		if err != nil {
			t.Fatal(err)
		}
		if c := sniff(t.Context(), in.Files[0]); c.agent == nil || c.agent.Name != facts.Goose || c.rival != nil {
			t.Errorf("%s: %+v, want Goose", name, c)
		}
	}
}

// A database of another program is named as one, and no query of a client's reader fails in it.
func TestDatabaseOfAnotherProgram(t *testing.T) {
	path := database(t, "sessions.db", `create table sessions (id text primary key, payload text)`)
	for _, where := range []string{path, filepath.Dir(path)} {
		c, err := Read(t.Context(), traces.Options{}, where)
		if !errors.Is(err, traces.ErrNoSessions) || !strings.Contains(fmt.Sprint(c.Problems), "recordings of a program whose database has no client's tables are not supported") {
			t.Errorf("%s: %v, problems %v", where, err, c.Problems)
		}
	}
}
