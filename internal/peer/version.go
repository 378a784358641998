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
}

func versions() map[string]version {
	return map[string]version{
		"ibsim":  {"-h", regexp.MustCompile(`\bibsim \d[\w.]*`)},
		"opensm": {"--version", regexp.MustCompile(`\bOpenSM \d[\w.]*`)},
	}
}

// Version is what a program, "ibsim" or "opensm", says of its version:
// "OpenSM 3.3.23".
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
	text := v.pattern.Find(out)
	if text == nil {
		return "", fmt.Errorf("version of %s: %w; it wrote:\n%s", program, err, out)
	}
	return string(text), nil
}
