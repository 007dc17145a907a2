package synthetic

// The lines of Claude Code's JSONL, with the fields of versions 2.1.x in the
// order the client writes them.

// head is what every line of a conversation begins with.
type head struct {
	ParentUUID    *string `json:"parentUuid"`
	LogicalParent *string `json:"logicalParentUuid,omitempty"`
	IsSidechain   bool    `json:"isSidechain"`
	UserType      string  `json:"userType"`
	Cwd           string  `json:"cwd"`
	SessionID     string  `json:"sessionId"`
	Version       string  `json:"version"`
	GitBranch     string  `json:"gitBranch"`
	AgentID       string  `json:"agentId,omitempty"`
	Slug          string  `json:"slug,omitempty"`
}

type userLine struct {
	head
	Type             string        `json:"type"`
	Message          userMessage   `json:"message"`
	VisibleOnly      bool          `json:"isVisibleInTranscriptOnly,omitempty"`
	IsCompactSummary bool          `json:"isCompactSummary,omitempty"`
	UUID             string        `json:"uuid"`
	Timestamp        string        `json:"timestamp"`
	ThinkingMetadata *thinkingMeta `json:"thinkingMetadata,omitempty"`
	Todos            *[]string     `json:"todos,omitempty"`
	PermissionMode   string        `json:"permissionMode,omitempty"`
	ToolUseResult    any           `json:"toolUseResult,omitempty"`
	SourceAssistant  string        `json:"sourceToolAssistantUUID,omitempty"`
}

type thinkingMeta struct {
	MaxThinkingTokens int `json:"maxThinkingTokens"`
}

// userMessage has a string or a list of content blocks.
type userMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type assistantLine struct {
	head
	Message   assistantMessage `json:"message"`
	RequestID string           `json:"requestId"`
	Type      string           `json:"type"`
	UUID      string           `json:"uuid"`
	Timestamp string           `json:"timestamp"`
}

type assistantMessage struct {
	Model        string  `json:"model"`
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Content      []any   `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        usage   `json:"usage"`
}

type usage struct {
	Input         int64          `json:"input_tokens"`
	Creation      int64          `json:"cache_creation_input_tokens"`
	Read          int64          `json:"cache_read_input_tokens"`
	CacheCreation cacheCreation  `json:"cache_creation"`
	Output        int64          `json:"output_tokens"`
	ServerTools   *serverToolUse `json:"server_tool_use,omitempty"`
	ServiceTier   string         `json:"service_tier"`
	InferenceGeo  string         `json:"inference_geo"`
	Iterations    *[]string      `json:"iterations,omitempty"`
	Speed         string         `json:"speed,omitempty"`
}

type cacheCreation struct {
	Write5m int64 `json:"ephemeral_5m_input_tokens"`
	Write1h int64 `json:"ephemeral_1h_input_tokens"`
}

type serverToolUse struct {
	WebSearches int `json:"web_search_requests"`
	WebFetches  int `json:"web_fetch_requests"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type thinkingContent struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type toolUseContent struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input any    `json:"input"`
}

type toolResultContent struct {
	ToolUseID string `json:"tool_use_id"`
	Type      string `json:"type"`
	Content   any    `json:"content"`
	IsError   *bool  `json:"is_error,omitempty"`
}

// systemLine covers compact_boundary, stop_hook_summary and turn_duration:
// fields a subtype lacks stay nil.
type systemLine struct {
	head
	Type                  string           `json:"type"`
	Subtype               string           `json:"subtype"`
	Content               string           `json:"content,omitempty"`
	HookCount             int              `json:"hookCount,omitempty"`
	HookInfos             []hookInfo       `json:"hookInfos,omitempty"`
	HookErrors            *[]string        `json:"hookErrors,omitempty"`
	PreventedContinuation *bool            `json:"preventedContinuation,omitempty"`
	StopReason            *string          `json:"stopReason,omitempty"`
	HasOutput             *bool            `json:"hasOutput,omitempty"`
	DurationMs            *int64           `json:"durationMs,omitempty"`
	IsMeta                *bool            `json:"isMeta,omitempty"`
	Timestamp             string           `json:"timestamp"`
	UUID                  string           `json:"uuid"`
	Level                 string           `json:"level,omitempty"`
	CompactMetadata       *compactMetadata `json:"compactMetadata,omitempty"`
	ToolUseID             string           `json:"toolUseID,omitempty"`
}

type hookInfo struct {
	Command string `json:"command"`
}

type compactMetadata struct {
	Trigger   string `json:"trigger"`
	PreTokens int    `json:"preTokens"`
}

type progressLine struct {
	head
	Type            string `json:"type"`
	Data            any    `json:"data"`
	ToolUseID       string `json:"toolUseID"`
	ParentToolUseID string `json:"parentToolUseID"`
	UUID            string `json:"uuid"`
	Timestamp       string `json:"timestamp"`
}

type hookProgress struct {
	Type      string `json:"type"`
	HookEvent string `json:"hookEvent"`
	HookName  string `json:"hookName"`
	Command   string `json:"command"`
}

// agentProgress carries one message of a sub-agent in its parent's file.
type agentProgress struct {
	Message    agentMessage `json:"message"`
	Normalized []string     `json:"normalizedMessages"`
	Type       string       `json:"type"`
	Prompt     string       `json:"prompt"`
	AgentID    string       `json:"agentId"`
}

type agentMessage struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Message   any    `json:"message"`
	RequestID string `json:"requestId,omitempty"`
	UUID      string `json:"uuid"`
}

type snapshotLine struct {
	Type      string   `json:"type"`
	MessageID string   `json:"messageId"`
	Snapshot  snapshot `json:"snapshot"`
	IsUpdate  bool     `json:"isSnapshotUpdate"`
}

type snapshot struct {
	MessageID string              `json:"messageId"`
	Backups   map[string]struct{} `json:"trackedFileBackups"`
	Timestamp string              `json:"timestamp"`
}
