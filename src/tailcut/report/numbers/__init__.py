"""What reports show, as plain data: `results` says what a file holds, `gather` computes everything else."""
