package cli

import (
	"time"

	"heddle/umad"

	"github.com/spf13/cobra"
)

const portHelp = `--port names the port to ask from:
  umad:DEVICE/PORT          a port of this machine, such as umad:mlx5_0/1;
                            umad: is the best of all
  ibsim:NAME/NODE           a node of ibsim or of heddle emu: its ID, description
                            or GUID; nothing for the server's choice. NAME is
                            the base of its sockets' names, nothing for
                            $IBSIM_SOCKNAME or else sim
  ibsim+udp:HOST:PORT/NODE  the same over UDP`

// portFlags say which port to ask from, and how long to wait.
type portFlags struct {
	spec    string
	timeout time.Duration
	retries int
}

func (p *portFlags) flags(cmd *cobra.Command) { p.flagsWith(cmd, 200*time.Millisecond) }

// flagsWith has another time to wait for an answer.
func (p *portFlags) flagsWith(cmd *cobra.Command, timeout time.Duration) {
	cmd.Flags().StringVar(&p.spec, "port", "umad:", "port to ask from")
	cmd.Flags().DurationVar(&p.timeout, "timeout", timeout, "how long to wait for an answer before asking again")
	cmd.Flags().IntVar(&p.retries, "retries", 3, "how often to ask again")
}

// call is how each request is asked.
func (p *portFlags) call() umad.CallOptions {
	o := umad.CallOptions{Timeout: p.timeout, Retries: p.retries}
	if o.Retries == 0 {
		o.Retries = umad.NoRetries
	}
	return o
}

// open opens the port.
func (p *portFlags) open() (*umad.Port, error) {
	if p.timeout <= 0 || p.retries < 0 {
		return nil, usagef("--timeout must be above 0 and --retries not below it")
	}
	dev, err := umad.Open(p.spec)
	if err != nil {
		return nil, err
	}
	return umad.NewPort(dev), nil
}
