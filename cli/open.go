package cli

import (
	"errors"
	"fmt"

	"heddle/cli/text"
	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/fabric/topology"

	"github.com/spf13/cobra"
)

const fabricHelp = `FABRIC is a file (ibnetdiscover's output, an ibsim net file, OpenSM's
subnet.lst or heddle's JSON; - for standard input), or generated from a text:
fat-tree:k=40, torus:30x20x20,e=2, dragonfly:a=18,p=9,h=9, bluelight,
taihulight; see heddle fabric generate --help.`

// source is a fabric that was read or generated.
type source struct {
	*fabric.Fabric
	name   string
	faults []fabric.Fault
}

// inputFlag adds --input-format to a command that reads a FABRIC.
func inputFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "input-format", "", "format of the FABRIC file, instead of detecting it")
}

// open reads or generates the fabric that an argument names.
func (a *app) open(arg, inputFormat string) (source, error) {
	if topology.Is(arg) && inputFormat == "" {
		return generate(arg)
	}
	f, faults, err := a.read(arg, inputFormat)
	switch {
	case errors.Is(err, format.ErrUnknown):
		return source{}, &usageError{err}
	case err != nil:
		return source{}, err
	}
	return source{f, arg, faults}, nil
}

func (a *app) read(arg, inputFormat string) (*fabric.Fabric, []fabric.Fault, error) {
	if arg == "-" {
		return format.Read(a.in, "stdin", inputFormat)
	}
	return format.ReadFile(arg, inputFormat)
}

func generate(text string) (source, error) {
	spec, err := topology.Parse(text)
	if err != nil {
		return source{}, &usageError{err}
	}
	f, faults := spec.Build()
	return source{f, text, faults}, nil
}

// faultLines is how many faults are told on standard error; fabric check tells
// all of them.
const faultLines = 10

// warn tells of a source's errors on standard error, and counts its warnings.
func (a *app) warn(s source) {
	errors := fabric.Errors(s.faults)
	for _, fault := range errors[:min(faultLines, len(errors))] {
		fmt.Fprintln(a.err, fault)
	}
	more, warnings := max(0, len(errors)-faultLines), len(s.faults)-len(errors)
	switch {
	case more > 0:
		fmt.Fprintf(a.err, "%s and %s: see heddle fabric check %s\n", text.Count(more, "more error"), text.Count(warnings, "warning"), s.name)
	case warnings > 0:
		fmt.Fprintf(a.err, "%s: see heddle fabric check %s\n", text.Count(warnings, "warning"), s.name)
	}
}

// faultError is the error of a fabric with faults that routing cannot live
// with, nil where there are none.
func (s source) faultError() error {
	if n := len(fabric.Errors(s.faults)); n > 0 {
		return fmt.Errorf("%s: %s", s.name, text.Count(n, "error"))
	}
	return nil
}
