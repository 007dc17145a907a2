package main

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/sim/live"
)

// summarizeStub is --summarizer for sizes drawn from a distribution; its other values are the modes of cassettes.
const summarizeStub = "stub"

// liveFlags say whether real models write the summaries, and within which
// limits. Where calls are stored and sent is not part of a scenario: somebody
// else's file must not choose who gets the key.
type liveFlags struct {
	summarizer string
	cassettes  string
	baseURL    string
	insecure   bool
	at         string // scheme and host of the server
	yes        *bool  // the flag of reading
	live.Settings
}

func (f *liveFlags) bind(cmd *cobra.Command, yes *bool) {
	f.yes = yes
	flags := cmd.Flags()
	f.summarizer = summarizeStub
	bindChoice(cmd, &f.summarizer, "summarizer", "`SOURCE` of summaries: stub, live (a real model, for calls that are not stored) or replay (stored calls); "+
		"--set live.KEY=VALUE sets what has no flag", []string{summarizeStub, string(live.Make), string(live.Replay)})
	flags.Lookup("yes").Usage += "; with --summarizer, answer yes to real calls only"
	flags.StringVar(&f.cassettes, "cassettes", "cassettes", "`DIR` that stores real calls for replays")
	flags.StringVar(&f.baseURL, "base-url", "",
		"`URL` of the server; without it ANTHROPIC_BASE_URL or OPENAI_BASE_URL")
	flags.BoolVar(&f.insecure, "insecure", false,
		"send conversations and the key without encryption: http to another machine")
	flags.String("provider", live.DefaultSettings().Provider,
		"`NAME` of the interface for real calls: anthropic, or openai for any server compatible with it")
	flags.String("live-model", "", "`MODEL` to ask in place of the session's")
	flags.Float64("budget-usd", 0, "stop before real calls cost more than `USD`; 0 for no limit")
}

// real reports whether calls are real, now or when they were stored.
func (f *liveFlags) real() bool { return f.summarizer != summarizeStub }

// mode returns how real calls that are not stored are handled.
func (f *liveFlags) mode() live.Mode { return live.Mode(f.summarizer) }

// asks reports whether a server may be called.
func (f *liveFlags) asks() bool { return f.real() && f.mode() != live.Replay }

// environment returns the name of a variable of the provider.
func (f *liveFlags) environment(name string) string { return strings.ToUpper(f.Provider) + "_" + name }

// server returns the server to call, with the key from the environment.
func (f *liveFlags) server(prices pricesNow) (*live.Client, error) {
	keyName, baseName := f.environment("API_KEY"), f.environment("BASE_URL")
	c := live.Config{
		Settings: f.Settings, Key: live.NewSecret(os.Getenv(keyName)), BaseURL: cmp.Or(f.baseURL, os.Getenv(baseName)),
		Price: prices.usd, Priced: prices.known,
	}
	switch {
	case f.Provider == live.OpenAI && c.BaseURL == "":
		return nil, fmt.Errorf("--provider openai needs --base-url, or %s in the environment, as "+
			"https://api.openai.com/v1", baseName)
	case f.Provider == live.Anthropic && c.Key.IsZero():
		empty := ""
		if _, there := os.LookupEnv(keyName); there {
			empty = ", which is empty"
		}
		return nil, fmt.Errorf("--summarizer %s needs a key in the environment's %s%s; docs/live.md shows how to try it without one",
			f.summarizer, keyName, empty)
	}
	if live.Insecure(c.BaseURL) && !f.insecure {
		return nil, fmt.Errorf("%s is http to another machine: the key and what is sent can be read on the way; use https, "+
			"or --insecure", hostOf(c.BaseURL))
	}
	f.at = hostOf(cmp.Or(c.BaseURL, "https://api.anthropic.com"))
	client, err := live.NewClient(c)
	if err != nil {
		from := "--base-url"
		if f.baseURL == "" {
			from = baseName
		}
		return nil, fmt.Errorf("%w (the key is from %s, the base URL from %s)", err, keyName, from)
	}
	return client, nil
}

// hostOf returns scheme and host of a base URL, without path and user, which may be secrets.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "a server"
	}
	return u.Scheme + "://" + u.Host
}
