package synthetic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// recordings finds shared/traces/claude-code beside the module's root.
func recordings(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("recorded sessions take long")
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
	found := filepath.Join(dir, "..", "shared", "traces", "claude-code")
	if _, err := os.Stat(found); err != nil {
		t.Skip("no recorded sessions at ../shared/traces/claude-code")
	}
	return found
}

// Every field of the schema is one that recorded sessions of versions 2.1.x
// have, in the same kind of line and with one of the same JSON types: the
// schema that TestSchema holds the generator to is the real client's.
func TestSchemaIsTheClients(t *testing.T) {
	seen := map[string]map[string]string{} // entry → field → types
	err := filepath.WalkDir(recordings(t), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".gz") {
			return err
		}
		if err = readFields(path, seen); err == nil && len(unseen(seen)) == 0 {
			return fs.SkipAll
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range unseen(seen) {
		t.Error(text)
	}
}

// unseen says what of the schema no recorded line has.
func unseen(seen map[string]map[string]string) (list []string) {
	for entry := range schema {
		if entry == "head" {
			continue
		}
		if seen[entry] == nil {
			list = append(list, fmt.Sprintf("no recorded line has %q", entry))
			continue
		}
		for name, types := range schemaOf(entry) {
			if got := seen[entry][name]; !strings.ContainsAny(got, types) {
				list = append(list, fmt.Sprintf("%s: field %s (%s) is recorded with types %q", entry, name, types, got))
			}
		}
	}
	return list
}

func readFields(path string, seen map[string]map[string]string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(gz)
	lines.Buffer(nil, 64<<20)
	tools := map[string]string{}
	for lines.Scan() {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue
		}
		if v := r.str("version"); v != "" && !strings.HasPrefix(v, "2.1.") {
			continue
		}
		noteLine(seen, r, tools)
	}
	return lines.Err()
}

// noteLine files a recorded line and its parts under the schema's entries.
func noteLine(seen map[string]map[string]string, r record, tools map[string]string) {
	note := func(entry string, r record) {
		if seen[entry] == nil {
			seen[entry] = map[string]string{}
		}
		for name, x := range r {
			if got := jsonType(x); !strings.Contains(seen[entry][name], got) {
				seen[entry][name] += got
			}
		}
	}
	kind := r.kind()
	note(kind, r)
	message := func(m record) {
		note("message "+m.str("role"), m)
		note("usage", m.sub("usage"))
		note("server_tool_use", m.sub("usage").sub("server_tool_use"))
		note("cache_creation", m.sub("usage").sub("cache_creation"))
		for _, b := range m.list("content") {
			note("block "+b.str("type"), b)
			if b.str("type") == "tool_use" {
				tools[b.str("id")] = b.str("name")
				note("input "+b.str("name"), b.sub("input"))
			}
			for _, part := range b.list("content") { // images are recorded in results
				if part.str("type") == "image" {
					note("block image", part)
					note("image source", part.sub("source"))
				}
			}
		}
	}
	message(r.sub("message"))
	data := r.sub("data")
	note("data "+data.str("type"), data)
	note("agent message", data.sub("message"))
	message(data.sub("message").sub("message"))
	note("compactMetadata", r.sub("compactMetadata"))
	note("thinkingMetadata", r.sub("thinkingMetadata"))
	note("snapshot", r.sub("snapshot"))
	for _, h := range r.list("hookInfos") {
		note("hookInfo", h)
	}
	if content := r.sub("message").list("content"); kind == "user/result" && len(content) > 0 {
		note("toolUseResult "+tools[content[0].str("tool_use_id")], r.sub("toolUseResult"))
		note("toolUseResult file", r.sub("toolUseResult").sub("file"))
	}
}
