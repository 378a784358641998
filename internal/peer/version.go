package peer

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
)

// version says how a program tells its version.
type version struct {
	flag    string
	pattern *regexp.Regexp
	as      string // of what the pattern finds
}

func versions() map[string]version {
	return map[string]version{
		"ibsim":    {"-h", regexp.MustCompile(`\bibsim \d[\w.]*`), "$0"},
		"opensm":   {"--version", regexp.MustCompile(`\bOpenSM \d[\w.]*`), "$0"},
		"ucx_info": {"-v", regexp.MustCompile(`# Version (\d[\w.]*)`), "UCX $1"},
	}
}

// Version is what a program, "ibsim", "opensm" or "ucx_info", says of its
// version: "OpenSM 3.3.23".
func Version(ctx context.Context, program string) (string, error) {
	v, ok := versions()[program]
	if !ok {
		return "", fmt.Errorf("version of %s: not known how to ask", program)
	}
	path, err := Find(program)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, v.flag).CombinedOutput()
	found := v.pattern.FindSubmatchIndex(out)
	if found == nil {
		return "", fmt.Errorf("version of %s: %w; it wrote:\n%s", program, err, out)
	}
	return string(v.pattern.Expand(nil, []byte(v.as), out, found)), nil
}
