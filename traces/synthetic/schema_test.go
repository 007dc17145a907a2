package synthetic

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// The fields of every kind of line and their JSON types, as versions 2.1.x
// write them: s string, n number, b bool, o object, a array, 0 null, x any;
// a trailing ? marks a field that may be absent. Nothing else may appear.
var schema = map[string]string{
	"head":                    "parentUuid:s0 isSidechain:b userType:s cwd:s sessionId:s version:s gitBranch:s",
	"user/prompt":             "head slug:s type:s message:o uuid:s timestamp:s thinkingMetadata:o todos:a permissionMode:s",
	"user/task":               "head agentId:s type:s message:o uuid:s timestamp:s",
	"user/result":             "head slug:s type:s message:o uuid:s timestamp:s toolUseResult:os sourceToolAssistantUUID:s",
	"user/agent result":       "head agentId:s type:s message:o uuid:s timestamp:s sourceToolAssistantUUID:s",
	"user/summary":            "head slug:s type:s message:o uuid:s timestamp:s isVisibleInTranscriptOnly:b isCompactSummary:b",
	"assistant":               "head agentId:s? slug:s? type:s message:o requestId:s uuid:s timestamp:s",
	"system/compact_boundary": "head slug:s type:s logicalParentUuid:s subtype:s content:s isMeta:b timestamp:s uuid:s level:s compactMetadata:o",
	"system/turn_duration":    "head slug:s type:s subtype:s durationMs:n isMeta:b timestamp:s uuid:s",
	"system/stop_hook_summary": "head slug:s type:s subtype:s hookCount:n hookInfos:a hookErrors:a preventedContinuation:b stopReason:s " +
		"hasOutput:b level:s timestamp:s uuid:s toolUseID:s",
	"progress/hook_progress":  "head slug:s type:s data:o toolUseID:s parentToolUseID:s uuid:s timestamp:s",
	"progress/agent_progress": "head slug:s type:s data:o toolUseID:s parentToolUseID:s uuid:s timestamp:s",
	"file-history-snapshot":   "type:s messageId:s snapshot:o isSnapshotUpdate:b",

	"message assistant":   "model:s id:s type:s role:s content:a stop_reason:s0 stop_sequence:0 usage:o",
	"message user":        "role:s content:sa",
	"block text":          "type:s text:s",
	"block thinking":      "type:s thinking:s signature:s",
	"block tool_use":      "type:s id:s name:s input:o",
	"block tool_result":   "tool_use_id:s type:s content:sa is_error:b?",
	"block image":         "type:s source:o",
	"image source":        "type:s media_type:s data:s",
	"usage":               "input_tokens:n cache_creation_input_tokens:n cache_read_input_tokens:n cache_creation:o output_tokens:n service_tier:s inference_geo:s server_tool_use:o? iterations:a? speed:s?",
	"cache_creation":      "ephemeral_5m_input_tokens:n ephemeral_1h_input_tokens:n",
	"compactMetadata":     "trigger:s preTokens:n",
	"data hook_progress":  "type:s hookEvent:s hookName:s command:s",
	"data agent_progress": "message:o normalizedMessages:a type:s prompt:s agentId:s",
	"agent message":       "type:s timestamp:s message:o requestId:s? uuid:s",
	"toolUseResult Read":  "type:s file:o",
	"toolUseResult file":  "filePath:s content:s numLines:n startLine:n totalLines:n",
	"toolUseResult Bash":  "stdout:s stderr:s interrupted:b isImage:b",
	"toolUseResult Edit":  "filePath:s oldString:s newString:s structuredPatch:a userModified:b replaceAll:b",
	"toolUseResult Write": "type:s filePath:s content:s structuredPatch:a",
	"toolUseResult Grep":  "mode:s numFiles:n filenames:a content:s numLines:n",
	"toolUseResult Glob":  "filenames:a durationMs:n numFiles:n truncated:b",
	"toolUseResult Task":  "status:s prompt:s agentId:s content:a totalDurationMs:n totalTokens:n totalToolUseCount:n usage:o",
	"input Read":          "file_path:s offset:n? limit:n?",
	"input Edit":          "replace_all:b file_path:s old_string:s new_string:s",
	"input Write":         "file_path:s content:s",
	"input Bash":          "command:s description:s",
	"input Grep":          "pattern:s path:s output_mode:s",
	"input Glob":          "pattern:s",
	"input Task":          "subagent_type:s description:s prompt:s",
	"snapshot":            "messageId:s trackedFileBackups:o timestamp:s",
	"hookInfo":            "command:s",
	"thinkingMetadata":    "maxThinkingTokens:n",
	"server_tool_use":     "web_search_requests:n web_fetch_requests:n",
}

// schemaOf expands an entry of the schema: name to types.
func schemaOf(entry string) map[string]string {
	out := map[string]string{}
	for _, f := range strings.Fields(schema[entry]) {
		if f == "head" {
			maps.Copy(out, schemaOf("head"))
			continue
		}
		name, types, _ := strings.Cut(f, ":")
		out[name] = types
	}
	return out
}

func jsonType(x any) string {
	switch x.(type) {
	case nil:
		return "0"
	case string:
		return "s"
	case float64:
		return "n"
	case bool:
		return "b"
	case []any:
		return "a"
	}
	return "o"
}

// checker checks objects against the schema and notes which entries were met.
type checker struct {
	t    *testing.T
	line int
	met  map[string]bool
}

func (c *checker) object(entry string, r record) {
	c.t.Helper()
	want, ok := schema[entry]
	if !ok || want == "" {
		c.t.Fatalf("line %d: no schema for %q", c.line, entry)
	}
	c.met[entry] = true
	known := schemaOf(entry)
	for name, types := range known {
		x, present := r[name]
		if !present {
			if !strings.HasSuffix(types, "?") {
				c.t.Errorf("line %d: %s: no %s", c.line, entry, name)
			}
			continue
		}
		if got := jsonType(x); !strings.Contains(types, got) {
			c.t.Errorf("line %d: %s: %s has JSON type %s, want %s", c.line, entry, name, got, types)
		}
	}
	for name := range r {
		if known[name] == "" {
			c.t.Errorf("line %d: %s: field %s is not in the schema", c.line, entry, name)
		}
	}
}

func (c *checker) message(r record, tools map[string]string) {
	c.object("message "+r.str("role"), r)
	if r.str("role") == "assistant" {
		c.usage(r.sub("usage"))
	}
	for _, b := range r.list("content") {
		c.object("block "+b.str("type"), b)
		if b.str("type") == "tool_use" {
			tools[b.str("id")] = b.str("name")
			c.input(b.str("name"), b.sub("input"))
		}
		if b.str("type") == "image" {
			c.object("image source", b.sub("source"))
		}
	}
}

// input checks the arguments of a tool. Arguments of MCP servers and of tools that
// the schema does not list are their own affair: one object.
func (c *checker) input(tool string, r record) {
	if schema["input "+tool] == "" {
		if !strings.HasPrefix(tool, "mcp__") && !slices.Contains(knownTools, tool) && schema["input "+tool] == "" || len(r) == 0 {
			c.t.Errorf("line %d: unknown tool %s, or no arguments", c.line, tool)
		}
		return
	}
	c.object("input "+tool, r)
}

func (c *checker) usage(u record) {
	c.object("usage", u)
	c.object("cache_creation", u.sub("cache_creation"))
	if u["server_tool_use"] != nil {
		c.object("server_tool_use", u.sub("server_tool_use"))
	}
}

func (c *checker) result(r record, tools map[string]string) {
	detail := r.sub("toolUseResult")
	if detail == nil {
		return // the text of an error
	}
	tool := tools[r.sub("message").list("content")[0].str("tool_use_id")]
	c.object("toolUseResult "+tool, detail)
	switch tool {
	case toolRead:
		c.object("toolUseResult file", detail.sub("file"))
	case toolTask:
		c.usage(detail.sub("usage"))
	}
}

func (c *checker) check(r record, tools map[string]string) {
	c.object(r.kind(), r)
	if m := r.sub("message"); m != nil {
		c.message(m, tools)
	}
	switch r.kind() {
	case "user/result":
		c.result(r, tools)
	case "user/prompt":
		c.object("thinkingMetadata", r.sub("thinkingMetadata"))
	case "system/compact_boundary":
		c.object("compactMetadata", r.sub("compactMetadata"))
	case "system/stop_hook_summary":
		for _, h := range r.list("hookInfos") {
			c.object("hookInfo", h)
		}
	case "file-history-snapshot":
		c.object("snapshot", r.sub("snapshot"))
	case "progress/hook_progress":
		c.object("data hook_progress", r.sub("data"))
	case "progress/agent_progress":
		c.object("data agent_progress", r.sub("data"))
		m := r.sub("data").sub("message")
		c.object("agent message", m)
		c.message(m.sub("message"), tools)
	}
}

// Every line has the fields of the real client, with their types, and no other:
// of the samples and of the workloads. Over all lines every entry of the schema
// is met.
func TestSchema(t *testing.T) {
	met := map[string]bool{"head": true}
	eachFile(t, func(t *testing.T, _ string, lines []record) {
		c := checker{t: t, met: met}
		tools := map[string]string{}
		for i, r := range lines {
			c.line = i + 1
			c.check(r, tools)
		}
	})
	for _, entry := range slices.Sorted(maps.Keys(schema)) {
		if !met[entry] {
			t.Errorf("no line has %q", entry)
		}
	}
}
